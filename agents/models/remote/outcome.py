"""Everything a call can come to but a reply: each has a name, and a class that says what to do.

retry    the next attempt may do: rate limits, overload, silence, what was cut, what came empty
give_up  the user must act: no key, no such model, a certificate that is not trusted
infra    no retry helps, and the student is not at fault: the episode has no score
budget   the account is used up
episode  the request itself is too long: the episode ends under its own name
"""

import re
from typing import Literal, TypeAlias

from evener.protocols.error import BudgetError, ContextExceeded, EvenerError, InfraError, ModelError

FaultKind: TypeAlias = Literal[
    "rate_limited",
    "overloaded",
    "unreachable",
    "timeout",
    "cut",
    "malformed",
    "empty",
    "provider_error",
    "content_filter",
    "context_exceeded",
    "refused",
    "unauthorized",
    "not_found",
    "certificate",
    "quota",
]
Action: TypeAlias = Literal["retry", "give_up", "infra", "budget", "episode"]

ACTION: dict[FaultKind, Action] = {
    "rate_limited": "retry",
    "overloaded": "retry",
    "unreachable": "retry",
    "timeout": "retry",
    "cut": "retry",
    "malformed": "retry",
    "empty": "retry",
    "provider_error": "retry",
    "content_filter": "infra",
    "refused": "infra",
    "context_exceeded": "episode",
    "unauthorized": "give_up",
    "not_found": "give_up",
    "certificate": "give_up",
    "quota": "budget",
}
LONGEST = 300
_SECRET = re.compile(r"\b(sk-|pk-|gsk_|xai-|nvapi-|pplx-|AIza|Bearer )[A-Za-z0-9*_.-]{4,}")


class QuotaError(BudgetError):
    """The provider says that the account is used up."""

    def __init__(self, what: str) -> None:
        super().__init__("quota", used=0, limit=0)
        self.args = (what,)

    def __str__(self) -> str:
        return str(self.args[0])


class CallFault(Exception):
    """One attempt came to nothing. `retry_after` is the server's wish in seconds; `tokens` are
    (prompt, completion) where the server charged for it."""

    def __init__(
        self,
        kind: FaultKind,
        detail: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        remedy: str = "",
    ) -> None:
        self.kind: FaultKind = kind
        self.detail = plain(detail)
        self.status = status
        self.retry_after = retry_after
        self.remedy = remedy
        self.tokens: tuple[int, int] | None = None
        self.window: tuple[int | None, int | None] = (None, None)
        super().__init__(f"{kind}: {self.detail}")

    @property
    def action(self) -> Action:
        """What is to be done about it."""
        return ACTION[self.kind]

    def error(self, where: str, *, attempts: int) -> EvenerError:
        """What the caller gets in the end."""
        said = f" ({self.status})" if self.status else ""
        match self.action:
            case "give_up":
                return ModelError(f"{self.detail}{said}", where=where, remedy=self.remedy)
            case "budget":
                return QuotaError(f"{where}: the account is used up: {self.detail}{said}")
            case "episode":
                prompt, window = self.window
                return ContextExceeded(prompt_tokens=prompt, window=window, said=self.detail)
            case _:
                tries = f" after {attempts} attempts" if attempts > 1 else ""
                return InfraError(f"{where}: {self.detail}{said}{tries}", kind=self.kind)


def plain(text: str) -> str:
    """One line without control characters or anything that looks like a key."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return _SECRET.sub(r"\1…", line)[:LONGEST]
