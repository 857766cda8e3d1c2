"""The arms by name, the cheap ones first."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True, kw_only=True)
class ArmPlan:
    """`skip` says why an arm does not apply to a run, or nothing; `rollouts` how many fresh
    episodes it takes at most; `run` makes it and says in a line what was found."""

    does: str
    skip: Callable[[History], str]
    rollouts: Callable[[History], int]
    run: Callable[[Bench], Awaitable[str]]


ARMS: Mapping[str, ArmPlan] = {
    "effects": ArmPlan(
        does="each accepted version taken out of the last one",
        skip=effects.skip,
        rollouts=effects.rollouts,
        run=effects.run,
    ),
    "votes": ArmPlan(
        does="best, majority and pass of n of the untouched student",
        skip=votes.skip,
        rollouts=votes.rollouts,
        run=votes.run,
    ),
    "controls": ArmPlan(
        does="the gate where nothing is to be found",
        skip=controls.skip,
        rollouts=controls.rollouts,
        run=controls.run,
    ),
    "versions": ArmPlan(
        does="every model under every harness",
        skip=versions.skip,
        rollouts=versions.rollouts,
        run=versions.run,
    ),
    "random": ArmPlan(
        does="the search without attribution",
        skip=chance.skip,
        rollouts=chance.rollouts,
        run=chance.run,
    ),
    "trained_seed": ArmPlan(
        does="training alone, at the run's cost",
        skip=trained_seed.skip,
        rollouts=trained_seed.rollouts,
        run=trained_seed.run,
    ),
    "counterfactual": ArmPlan(
        does="the second search on the first weights",
        skip=counterfactual.skip,
        rollouts=counterfactual.rollouts,
        run=counterfactual.run,
    ),
}
