"""`sources.json`: what each source of training data was worth. Rates are fractions, intervals
95 %."""

from typing import Literal, TypeAlias

from evener.protocols.digest import Wire
from evener.protocols.summary import Cell, Comparison, Reviews, Rows

Finding: TypeAlias = Literal["ahead", "behind", "not told apart", "no student"]
"""Of a student against base+target: a side only where the paired interval is clear of 0."""


class SourceLine(Wire):
    """One source. `collected` is its first, greedy run of every task; `episodes` and `solved` are
    over the resamples too. `score` is its student's under the target, `difference` that to
    base+target on the same tasks. `trained_tokens` counts every epoch. `note` says why a source
    is not available, or has no student."""

    source: str
    label: str
    available: bool = True
    note: str = ""
    collected: Cell | None = None
    episodes: int = 0
    solved: int = 0
    reviews: Reviews | None = None
    rows: Rows = Rows()
    trained_tokens: int = 0
    score: Cell | None = None
    difference: Comparison | None = None
    finding: Finding = "no student"
    cpu_seconds: float = 0.0


class Order(Wire):
    """Whether the paper's order holds. `against`: review with K minus every other student, on the
    same tasks. `correlation`: Spearman's, of success at collection with the distilled score, over
    `ranked` sources, with its exact two-sided permutation `p`."""

    holds: Literal["yes", "no", "not shown", "not asked"]
    against: tuple[Comparison, ...] = ()
    by_collection: tuple[str, ...] = ()
    by_score: tuple[str, ...] = ()
    same_order: bool | None = None
    correlation: float | None = None
    p: float | None = None
    ranked: int = 0
    sentence: str


class SourceTable(Wire):
    """The whole table. `cpu_seconds` are those of the process tree over all sessions; the lines'
    are of what was finished, and what several sources ask alike is answered once."""

    run: str
    environment: str
    student: str
    target: str
    optimized: str
    reviewer: str
    seed: int
    base: Cell
    lines: tuple[SourceLine, ...]
    order: Order
    cpu_seconds: float
