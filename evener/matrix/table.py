"""The arms by name, for each kind of run, the cheap ones first."""

from collections.abc import Mapping
from typing import Generic, NamedTuple, Protocol, TypeVar

from evener.matrix import (
    chance,
    controls,
    counterfactual,
    effects,
    equal_votes,
    recipe,
    reviewed,
    share,
    trained_seed,
    versions,
    votes,
)
from evener.matrix.bench import Bench
from evener.matrix.distilled import Distilled
from evener.matrix.history import History
from evener.matrix.review_bench import ReviewBench

H_contra = TypeVar("H_contra", contravariant=True)
B_contra = TypeVar("B_contra", contravariant=True)
H = TypeVar("H")
B = TypeVar("B")


class ArmModule(Protocol[H_contra, B_contra]):
    """What each module of an arm has, for runs that `H_contra` tells of and `B_contra` opens."""

    def skip(self, history: H_contra) -> str:
        """Why the arm does not apply to a run, or nothing."""
        ...

    def rollouts(self, history: H_contra) -> int:
        """How many fresh episodes it takes at most."""
        ...

    async def run(self, bench: B_contra) -> str:
        """Make it, and say in a line what was found."""
        ...


class ArmPlan(NamedTuple, Generic[H, B]):
    """What an arm is, in words, and how it is made."""

    does: str
    make: ArmModule[H, B]


ARMS: Mapping[str, ArmPlan[History, Bench]] = {
    "effects": ArmPlan("each accepted version taken out of the last one", effects),
    "votes": ArmPlan("best, majority and pass of n of the untouched student", votes),
    "controls": ArmPlan("the gate where nothing is to be found", controls),
    "versions": ArmPlan("every model under every harness", versions),
    "random": ArmPlan("the search without attribution", chance),
    "trained_seed": ArmPlan("training alone, at the run's cost", trained_seed),
    "counterfactual": ArmPlan("the second search on the first weights", counterfactual),
}
"""Beside a co-evolution run."""

DISTILLED: Mapping[str, ArmPlan[Distilled, ReviewBench]] = {
    "recipe": ArmPlan("the recipe rules alone, and on the base", recipe),
    "votes": ArmPlan("best, majority and pass of n of the base, with h* and without", equal_votes),
    "flagged": ArmPlan("review of flagged responses alone, no training", share.FLAGGED),
    "reviewed": ArmPlan("review with K and with an empty K, no training", reviewed),
    "always": ArmPlan("review of every response, no training", share.ALWAYS),
}
"""Beside a distillation."""
