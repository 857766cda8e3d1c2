"""avg@k and maj@k over a table of k attempts at n problems, with standard errors over problems.

Attempts at one problem are no independent evidence: the unit is the problem. What nobody could
score is left out and counted, never taken for zero.
"""

from collections.abc import Sequence
from math import sqrt
from typing import TypeVar

from evener.environments.scoring.vote import Same, majority
from evener.protocols.digest import Wire
from evener.protocols.interval import bootstrap, wilson

T = TypeVar("T")
SEED = 0


class Figure(Wire):
    """A mean over `n` problems with its standard error and a 95 % interval. `k` attempts a problem;
    `coverage` is the share of attempts (of problems, for maj@k) that could be scored. Without
    anything scored the value is None, and one problem has no standard error."""

    name: str
    value: float | None
    error: float | None
    low: float
    high: float
    n: int
    k: int
    coverage: float


def avg_at_k(table: Sequence[Sequence[float | None]]) -> Figure:
    """The mean over problems of the mean of their scored attempts. `table` has k rows of n scores
    in 0…1, None where nobody could score. Raises ValueError for rows of different lengths."""
    columns = _columns(table)
    scored = [[score for score in column if score is not None] for column in columns]
    means = [sum(scores) / len(scores) for scores in scored if scores]
    cells = len(table) * len(columns)
    coverage = sum(len(scores) for scores in scored) / cells if cells else 0.0
    return _figure(f"avg@{len(table)}", means, k=len(table), coverage=coverage)


async def maj_at_k(
    answers: Sequence[Sequence[str | None]], table: Sequence[Sequence[float | None]], *, same: Same
) -> Figure:
    """The share of problems whose majority answer is right. Both tables have k rows of n; an answer
    is None where there was none. A problem is right by the score of the first voter of its majority
    that has one, wrong where nobody gave an answer, and left out where the majority has no score.
    """
    if [len(row) for row in answers] != [len(row) for row in table]:
        raise ValueError("answers and scores are tables of different sizes")
    outcomes: list[float] = []
    columns = list(zip(_columns(answers), _columns(table), strict=True))
    for given, scores in columns:
        chosen = await majority(given, same)
        if chosen is None:
            # undecided attempts without an answer say nothing; attempts without one are wrong
            if any(score is not None for score in scores):
                outcomes.append(0.0)
            continue
        known = [score for voter in chosen.voters if (score := scores[voter]) is not None]
        outcomes += known[:1]
    coverage = len(outcomes) / len(columns) if columns else 0.0
    return _figure(f"maj@{len(table)}", outcomes, k=len(table), coverage=coverage)


def _columns(table: Sequence[Sequence[T]]) -> list[list[T]]:
    if not table:
        raise ValueError("a table without attempts")
    return [list(column) for column in zip(*table, strict=True)]


def _figure(name: str, values: Sequence[float], *, k: int, coverage: float) -> Figure:
    n = len(values)
    if n == 0:
        return Figure(
            name=name, value=None, error=None, low=0.0, high=1.0, n=0, k=k, coverage=coverage
        )
    mean = sum(values) / n
    around = sum((value - mean) ** 2 for value in values)
    error = sqrt(around / (n - 1) / n) if n > 1 else None
    if all(value in (0.0, 1.0) for value in values):
        low, high = wilson(sum(value == 1.0 for value in values), n)[1:3]
    else:
        found = bootstrap(values, _mean, seed=SEED)
        low, high = found.low, found.high
    return Figure(
        name=name, value=mean, error=error, low=low, high=high, n=n, k=k, coverage=coverage
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
