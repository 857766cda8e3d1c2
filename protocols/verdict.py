"""The validator's verdict on a patch or a model, and the paired outcomes it rests on."""

from enum import StrEnum
from typing import Literal

from evener.protocols.attribution import TrialKind
from evener.protocols.digest import Wire


class Ruling(StrEnum):
    """INDECISIVE: the budget or the tasks ran out before either bar was met."""

    ACCEPT = "ACCEPT"
    REJECT = "REJECT"
    INDECISIVE = "INDECISIVE"


class Pair(Wire):
    """One task run under both arms, fresh. Rewards in 0…1. `cost_*` are tokens read and
    written."""

    task: str
    kind: str = ""
    before: float
    after: float
    cost_before: float = 0.0
    cost_after: float = 0.0


class Delta(Wire):
    """A mean difference after − before with its 95 % interval over `n` pairs."""

    value: float
    low: float
    high: float
    n: int


class Decision(Wire):
    """A gate's answer: a ruling, or None and how many pairs of each side, those shown included, it
    wants to have at its next look."""

    ruling: Ruling | None
    want_in: int = 0
    want_out: int = 0
    reason: str


class Verdict(Wire):
    """What the trial of one proposal found. `coverage` is the share of wanted pairs that were
    scored on both sides; `rollouts` counts fresh episodes, `reused` those answered from the log;
    calls and tokens are those of both."""

    trial: str
    kind: TrialKind
    gate: str
    gate_digest: str
    ruling: Ruling
    delta_in: Delta | None
    delta_out: Delta | None
    pairs_in: tuple[Pair, ...] = ()
    pairs_out: tuple[Pair, ...] = ()
    coverage: float
    looks: int
    rollouts: int
    reused: int = 0
    screened: int = 0
    calls: int = 0
    completion_tokens: int = 0
    seed: int
    reason: str
    aim: Literal["signature", "all"] = "all"
