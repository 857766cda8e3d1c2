"""The arms by name, the cheap ones first."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from evener.matrix import (
    chance,
    controls,
    counterfactual,
    effects,
    trained_seed,
    versions,
    votes,
)
from evener.matrix.bench import Bench
from evener.matrix.history import History


class ArmModule(Protocol):
    """What each module of an arm has."""

    def skip(self, history: History) -> str:
        """Why the arm does not apply to a run, or nothing."""
        ...

    def rollouts(self, history: History) -> int:
        """How many fresh episodes it takes at most."""
        ...

    async def run(self, bench: Bench) -> str:
        """Make it, and say in a line what was found."""
        ...


class ArmPlan(NamedTuple):
    """What an arm is, in words, and how it is made."""

    does: str
    make: ArmModule


ARMS: Mapping[str, ArmPlan] = {
    "effects": ArmPlan("each accepted version taken out of the last one", effects),
    "votes": ArmPlan("best, majority and pass of n of the untouched student", votes),
    "controls": ArmPlan("the gate where nothing is to be found", controls),
    "versions": ArmPlan("every model under every harness", versions),
    "random": ArmPlan("the search without attribution", chance),
    "trained_seed": ArmPlan("training alone, at the run's cost", trained_seed),
    "counterfactual": ArmPlan("the second search on the first weights", counterfactual),
}
