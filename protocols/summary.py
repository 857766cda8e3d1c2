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


class PredictionLine(Wire):
    """What was predicted of an accepted patch, and what came true when the same mining tasks were
    run again under it. `fixed` and `broken` count all changes, foreseen or not."""

    round: int
    iteration: int
    patch: str
    fixes: int
    fixes_true: int
    breaks: int
    breaks_true: int
    fixed: int
    broken: int


class Effect(Wire):
    """What an accepted version is worth: HEAD against HEAD without its patch on fresh tasks of
    `split`, under `model`. `redundant`: the interval's lower end is not above 0. `fault` says why
    it could not be taken out."""

    version: str
    patch: str
    model: str
    split: str
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    redundant: bool | None = None
    fault: str = ""


class Control(Wire):
    """How often the gate accepts where nothing is to be found. `A/A`: trials of one harness against
    itself with seeds of its own, `difference` pooled over their `pairs`; `sign flips`: stored pairs
    swapped at random `trials` times."""

    name: Literal["A/A", "sign flips"]
    trials: int
    accepted: int
    rate: float
    low: float
    high: float
    pairs: int
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    temperature: float | None = None
    seed: int


class Arm(Wire):
    """What an arm beside the run used, against what the run used: rollouts of its search and
    collection, tokens it was trained on, model calls for each task once deployed (None: its cells
    tell)."""

    name: str
    rollouts: int = 0
    rollout_limit: int = 0
    trained_tokens: int = 0
    token_limit: int = 0
    calls_per_task: float | None = None
    note: str = ""


class ReviewCounts(Wire):
    """What reviewing came to: of `candidates` responses (of an episode those up to its last
    replacement that is allowed; what comes after passes unseen), those that a reviewer was asked
    about, those that were replaced, and of these the ones that took no asking (`carried_on`: the
    rest of what a review began); attempts that did not count, and candidates that passed after
    three of these. Calls and tokens are of its own model, read and written: what it asks
    more than once counts once, as does an episode that was run twice."""

    candidates: int = 0
    reviewed: int = 0
    replaced: int = 0
    carried_on: int = 0
    invalid_attempts: int = 0
    given_up: int = 0
    calls: int = 0
    tokens: int = 0


class Reviews(ReviewCounts):
    """The counts of one reviewer. `served` is what the episodes were for: `collection`, or the
    names of the cells that they stand in; empty while it is not known."""

    reviewer: str
    served: str = ""


class Rows(Wire):
    """Training rows accepted, and refused by reason."""

    accepted: int = 0
    refused: dict[str, int] = {}


class RoleUse(Wire):
    """What one role used; `tokens` are those written.

    Of a model behind an interface also what was sent and charged: `requests` with retries and
    probes, `usd` as far as a price is known (None: of nothing), `unpriced` requests whose price is
    not known, `untold` those whose tokens are not.
    """

    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    requests: int = 0
    usd: float | None = None
    unpriced: int = 0
    untold: int = 0


class BudgetUse(Wire):
    """What the run used: by role, and CPU-seconds of the process tree over all its sessions; those
    of the runs beside it in `arms/` are included."""

    by_role: dict[str, RoleUse] = {}
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    rollouts: int = 0


class Recovery(Wire):
    """How far the distilled student shows a pattern of the harness that was taken off.

    `support` counts the tasks where, in replicate A, base + h* shows the pattern and base + h does
    not. All else is of replicate B on these tasks. `base`, `with_harness` and `distilled` are rates
    among the episodes that offer the occasion, over tasks that were run in all three; `control`
    (trained on the action format alone) is one over the tasks that it was run on. `paper` is the
    share of the support where distilled + h shows the pattern; `recovered` the corrected figure
    (distilled - base) / (with_harness - base), with `low` and `high`. `group` is the pattern that
    stands for this one, whose support is nearly the same; `note` says why a figure is missing.
    `coverage` is the share of the support that was run in all arms.
    """

    pattern: str
    part: str = ""
    conditional: bool = False
    support: int
    base: float | None = None
    with_harness: float | None = None
    distilled: float | None = None
    control: float | None = None
    paper: float | None = None
    paper_low: float | None = None
    paper_high: float | None = None
    recovered: float | None = None
    low: float | None = None
    high: float | None = None
    group: str = ""
    coverage: float = 1.0
    note: str = ""


class MeanFigure(Wire):
    """A mean over `patterns` patterns, with bounds over tasks; None where there is none."""

    patterns: int = 0
    value: float | None = None
    low: float | None = None
    high: float | None = None


class RecoveryMeans(Wire):
    """Over the patterns that count: support of ten or more, one of those that come to the same.
    `paper` and `recovered` are of the distilled student, `control_*` of the one trained on the
    action format alone. `tasks` are all that any support has; `detectors` is the frozen digest."""

    paper: MeanFigure = MeanFigure()
    recovered: MeanFigure = MeanFigure()
    control_paper: MeanFigure = MeanFigure()
    control_recovered: MeanFigure = MeanFigure()
    conditional: int = 0
    tasks: int = 0
    seed: int = 0
    detectors: str = ""
    note: str = ""


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
    predictions: tuple[PredictionLine, ...] = ()
    effects: tuple[Effect, ...] = ()
    controls: tuple[Control, ...] = ()
    arms: tuple[Arm, ...] = ()
    recovery: tuple[Recovery, ...] = ()
    recovery_means: RecoveryMeans | None = None
    reviews: tuple[Reviews, ...] = ()
    rows: Rows = Rows()
    budget: BudgetUse = Field(default_factory=BudgetUse)
    head: str = ""
    model: str = ""
    stop_reason: str = ""
    verdict_sentence: str = ""


class PooledCell(Wire):
    """One cell of several runs together; `cells` are those of each run. `coverage` and
    `tool_error_rate` are means over the runs, each weighted by its n."""

    name: str
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
    cells: tuple[Cell, ...]


class PooledComparison(Comparison):
    """The pairs of all runs together, clustered by task, and each run's own difference beside it:
    `runs` holds them in order of seed, `least` and `most` are the ends of their range."""

    runs: tuple[Comparison, ...]
    seeds: tuple[int, ...]
    least: float
    most: float


class PooledSummary(Wire):
    """Runs that differ in their seed alone, pooled. The intervals cover how tasks vary; how
    training and search vary they cover only as far as there are seeds. `notes` say what else
    differs between the runs, or is missing in some."""

    schema_version: Literal[1] = 1
    runs: tuple[Summary, ...]
    seeds: tuple[int, ...]
    cells: tuple[PooledCell, ...] = ()
    comparisons: tuple[PooledComparison, ...] = ()
    cpu_seconds: float
    notes: tuple[str, ...] = ()
    verdict_sentence: str = ""
