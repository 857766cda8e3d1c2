"""What a role has used and may use, checked before every request.

Requests count when they are sent, so their limit is exact. Tokens, seconds and money count when a
reply tells them: those in flight may go over. A price that is unknown is no price of 0.
"""

from collections.abc import Iterable

from evener.agents.models.remote.settings import Allowance
from evener.protocols.digest import JsonObject
from evener.protocols.error import BudgetError


class Spending:
    """The book of one role. `unpriced` replies have no known price, `untold` requests no known
    usage."""

    def __init__(self, role: str, allowance: Allowance | None = None) -> None:
        self.role = role
        self.allowance = allowance or Allowance()
        self.calls = 0
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.seconds = 0.0
        self.usd = 0.0
        self.unpriced = 0
        self.untold = 0

    def begin(self) -> None:
        """Count one request about to be sent. Raises BudgetError instead where a limit is
        reached."""
        allowed = self.allowance
        for unit, used, limit in (
            ("calls", self.calls, allowed.calls),
            ("tokens", self.prompt_tokens + self.completion_tokens, allowed.tokens),
            ("seconds", self.seconds, allowed.seconds),
            ("USD", self.usd, allowed.usd),
        ):
            if limit is not None and used >= limit:
                raise BudgetError(f"{unit} of the {self.role}", used=used, limit=limit)
        self.calls += 1

    def end(self, seconds: float, tokens: tuple[int, int] | None, usd: float | None) -> None:
        """Count what a request came to: `tokens` and `usd` None where nobody told."""
        self.seconds += seconds
        if tokens is None:
            self.untold += 1
            return
        self.prompt_tokens += tokens[0]
        self.completion_tokens += tokens[1]
        if usd is None:
            self.unpriced += 1
        else:
            self.usd += usd

    def resume(self, bodies: Iterable[JsonObject]) -> None:
        """Count what earlier sessions of the run logged for this role."""
        for body in bodies:
            attempts = body.get("attempts")
            if body.get("role") != self.role or not isinstance(attempts, list):
                continue
            for attempt in attempts:
                if isinstance(attempt, dict):
                    self._count(attempt)

    def sentence(self) -> str:
        """One line for a person."""
        tokens = self.prompt_tokens + self.completion_tokens
        parts = [f"{self.role}: {self.calls} requests, {tokens} tokens"]
        if self.usd or not self.unpriced:
            parts.append(f"{self.usd:.4f} USD")
        if self.unpriced:
            parts.append(f"unknown price for {self.unpriced} calls")
        if self.untold:
            parts.append(f"unknown usage of {self.untold}")
        return ", ".join(parts)

    def _count(self, attempt: JsonObject) -> None:
        self.calls += 1
        read, written = attempt.get("prompt_tokens"), attempt.get("completion_tokens")
        known = isinstance(read, int) and isinstance(written, int)
        seconds, usd = attempt.get("seconds"), attempt.get("cost_usd")
        self.end(
            float(seconds) if isinstance(seconds, int | float) else 0.0,
            (int(str(read)), int(str(written))) if known else None,
            float(usd) if isinstance(usd, int | float) else None,
        )
