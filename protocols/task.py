"""A task, the split it belongs to, and the purpose of a rollout on it."""

from enum import StrEnum

from evener.protocols.digest import Wire


class Split(StrEnum):
    """Disjoint by construction. `mine` feeds critic and trainer, nothing else does."""

    MINE = "mine"
    HELD_IN = "held_in"
    HELD_OUT = "held_out"
    TEST = "test"
    OOD = "ood"


class Purpose(StrEnum):
    """Why a rollout is made. The critic takes `mine` only, the trainer `collect` only."""

    MINE = "mine"
    COLLECT = "collect"
    GATE = "gate"
    EVALUATE = "evaluate"


class Task(Wire):
    """One problem, public part only: the hidden answer stays in the environment, keyed by id."""

    id: str
    split: Split
    kind: str = ""
    prompt: str
