"""Is an answer the gold? Three layers: notation, numbers, algebra in a process that is killed.

A ruling is `correct`, `incorrect` or `error`; an error says that nobody knows, and is no reward of
zero.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, TypeAlias

from evener.environments.scoring.box import Missing
from evener.environments.scoring.comparison import compare
from evener.environments.scoring.exact import same, told_apart
from evener.environments.scoring.normal import compact, too_big
from evener.environments.scoring.pool import DEADLINE_S, SIZE, Pool
from evener.environments.scoring.shape import fault, form
from evener.protocols.trajectory import Score

Verdict: TypeAlias = Literal["correct", "incorrect", "error"]

MOST_PAIRS = 64


@dataclass(frozen=True)
class Judgement:
    """A verdict, the answer that it is about, and the rule that fired.

    Rules: `string`, `integer`, `rational`, `numeral`, `text` (exact), `shape` (another number of
    parts, or other brackets), `dots`, `magnitude` (the answer has them and the gold has not),
    `math-verify`, `no_answer`, `truncated_answer`; of an error, why nobody knows: `timeout`,
    `memory`, `killed`, `too_long`, `too_deep`, `too_large`, `too_many`, `not_worked_out`,
    `gold_not_read`, or `exception: NAME`.
    """

    verdict: Verdict
    rule: str
    answer: str | None

    def score(self) -> Score:
        """As a session's score: an error has no value, and the rule is the name of its one part."""
        match self.verdict:
            case "correct":
                return Score(value=1.0, verdict="correct", parts={f"rule:{self.rule}": 1.0})
            case "incorrect":
                missing = self.rule if self.answer is None else None
                parts = {f"rule:{self.rule}": 1.0}
                return Score(value=0.0, verdict="incorrect", parts=parts, error_kind=missing)
            case "error":
                return Score(value=None, verdict="error", error_kind=f"scoring: {self.rule}")


def unanswered(missing: Missing) -> Judgement:
    """The ruling on an episode without an answer: incorrect, and why there is none."""
    return Judgement("incorrect", missing, None)


class Checker:
    """For any number of threads and tasks; the processes start where algebra is first needed."""

    def __init__(self, *, size: int = SIZE, deadline_s: float = DEADLINE_S) -> None:
        self.pool = Pool(size, deadline_s=deadline_s)
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="scoring")

    async def judge(self, gold: str, answer: str) -> Judgement:
        """`check`, without holding up the event loop."""
        early = _early(gold, answer)
        if early is not None:
            return early
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self.check, gold, answer)

    def check(self, gold: str, answer: str) -> Judgement:
        """The ruling on an answer as it was extracted; waits for it, in any thread.

        Raises ConfigError without math-verify where algebra is needed, InfraError where no worker
        starts.
        """
        early = _early(gold, answer)
        if early is not None:
            return early
        comparison = compare(form(gold), form(answer))
        if comparison is None:
            return Judgement("incorrect", "shape", answer)
        pairs = comparison.pairs
        if len(pairs) > MOST_PAIRS * MOST_PAIRS:
            return Judgement("error", "too_many", answer)
        rulings = {pair: ruling for pair in pairs if (ruling := same(*pair)) is not None}
        equal = {pair: ruling[0] for pair, ruling in rulings.items()}
        rule = next((ruling[1] for ruling in rulings.values()), "math-verify")
        right = comparison.settled(equal)
        if right is None:
            unknown = [pair for pair in pairs if pair not in equal]
            if len(unknown) > MOST_PAIRS:
                return Judgement("error", "too_many", answer)
            found, why = self.pool.ask(unknown)
            if found is None:
                return Judgement("error", why or "killed", answer)
            rule = "math-verify"
            right = comparison.settled(equal | dict(zip(unknown, found, strict=True)))
        return Judgement("correct" if right else "incorrect", rule, answer)

    async def same(self, one: str, other: str) -> bool:
        """Whether two answers are one, for votes; an error is no."""
        return (await self.judge(one, other)).verdict == "correct"

    def unreadable(self, gold: str) -> str | None:
        """Why a gold answer could never be compared; None where it can. Raises as `check` does."""
        why = fault(gold) or too_big(gold)
        if why is not None:
            return why
        items = [item for item in form(gold).items if same(item, "0") is None]
        return self.pool.ask([(item, item) for item in items])[1] if items else None

    def close(self) -> None:
        """End the processes."""
        self.pool.close()
        self._threads.shutdown(wait=False)


def _early(gold: str, answer: str) -> Judgement | None:
    """The ruling on an answer of which nothing but its size and its notation need be looked at."""
    why = too_big(answer)
    if why is not None:
        return Judgement("error", why, answer)
    rule = told_apart(gold, answer)
    if rule is not None:
        return Judgement("incorrect", rule, answer)
    if compact(gold) == compact(answer):
        return Judgement("correct", "string", answer)
    return None
