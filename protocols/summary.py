"""`summary.json`, what other programs read of a run. Rates are fractions, intervals 95 %."""

from typing import Literal

from pydantic import Field

from evener.protocols.attribution import TrialKind
from evener.protocols.digest import Wire
from evener.protocols.verdict import Ruling


class Cell(Wire):
    """One (model, harness) on one split. `coverage` is the share of episodes that were scored."""

    name: str
    model: str
    harness: str
    split: str
    n: int
    solved: int
    rate: float
    low: float
    high: float
    coverage: float
    tool_error_rate: float
    calls: int
    tokens: int
    cpu_seconds: float
    seed: int


class Comparison(Wire):
    """Cell `a` against cell `b` on the same tasks."""

    a: str
    b: str
    split: str
    difference: float
    low: float
    high: float
    paired: bool = True
    n: int


class VerdictLine(Wire):
    """One verdict of the run, in short."""

    round: int
    iteration: int
    patch: str
    kind: TrialKind
    author: str
    outcome: Ruling
    delta_in: float | None
    delta_in_low: float | None = None
    delta_in_high: float | None = None
    delta_out: float | None
    delta_out_low: float | None = None
    delta_out_high: float | None = None
    n_in: int
    n_out: int
    coverage: float
    rollouts: int
    reason: str = ""


class Rows(Wire):
    """Training rows accepted, and refused by reason."""

    accepted: int = 0
    refused: dict[str, int] = {}


class RoleUse(Wire):
    """What one role used."""

    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0


class BudgetUse(Wire):
    """What the run used: by role, and CPU-seconds of the process tree, over all its sessions."""

    by_role: dict[str, RoleUse] = {}
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    rollouts: int = 0


class Recovery(Wire):
    """How far the distilled student shows a pattern of the harness that was taken off."""

    pattern: str
    support: int
    base: float
    with_harness: float
    distilled: float
    recovered: float
    low: float
    high: float


class Summary(Wire):
    """The whole of it. `verdict_sentence` is the run's result in words."""

    schema_version: Literal[1] = 1
    run: str
    state: Literal["finished", "interrupted", "running", "budget"]
    environment: str
    student: str
    critic: str
    gate: str
    seed: int
    rounds: int
    cells: tuple[Cell, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    verdicts: tuple[VerdictLine, ...] = ()
    recovery: tuple[Recovery, ...] = ()
    rows: Rows = Rows()
    budget: BudgetUse = Field(default_factory=BudgetUse)
    head: str = ""
    model: str = ""
    stop_reason: str = ""
    verdict_sentence: str = ""
