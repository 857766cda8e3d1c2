"""A critic is measured by what it blames for the failures of plants, whichever critic it is."""

from collections.abc import Sequence

import pytest
from typer.testing import CliRunner

from evener.agents.critics import RuleCritic
from evener.agents.pattern import published
from evener.bench.critic.measure import at_fault, measure
from evener.bench.critic.page import render
from evener.bench.critic.plants import PLANTS, Plant
from evener.cli import commands
from evener.cli.app import app
from evener.environments.storefront import Storefront
from evener.protocols.attribution import (
    DIMENSION,
    Attribution,
    Evidence,
    Proposal,
    Severity,
)
from evener.protocols.error import DataError, ModelError
from evener.protocols.harness import Harness
from evener.protocols.patch import FieldEdit
from evener.protocols.trajectory import Trajectory

CAUSES = {dimension: cause for cause, dimension in DIMENSION.items()}
NAMES = ("two turns", "wrong step", "declines")
FEW = tuple(plant for plant in PLANTS if plant.name in NAMES)


class Oracle:
    """Knows which harness was broken by what: what a critic could do at best."""

    name = "oracle"

    def __init__(self, plants: Sequence[Plant]) -> None:
        self._plants = {plant.harness.digest(): plant for plant in plants}
        self.seen: list[Trajectory] = []

    async def attribute(self, failure: Trajectory, harness: Harness) -> Attribution:
        self.seen.append(failure)
        plant = self._plants[harness.digest()]
        cause = CAUSES[plant.dimension]
        return Attribution(
            trajectory=failure.digest(),
            author=self.name,
            root_cause=cause,
            harness_dim=DIMENSION[cause],
            severity=Severity.MAJOR,
            signature=plant.name,
            evidence=Evidence(trajectory=failure.digest(), event=0, quote="?"),
            diff_suggestion=plant.edit,
        )

    async def propose(
        self,
        attributions: Sequence[Attribution],
        harness: Harness,
        *,
        refused: frozenset[str] = frozenset(),
        limit: int = 8,
        seed: int = 0,
    ) -> tuple[Proposal, ...]:
        return ()


async def test_an_oracle_is_right_everywhere_and_sees_failures_alone() -> None:
    oracle = Oracle(FEW)
    found = await measure(oracle, judge="model", plants=FEW, episodes=2)
    assert [p.blamed for p in found.plants] == [p.dimension or "agent" for p in FEW]
    assert (found.macro_recall.value, found.macro_recall.n) == (1.0, 2)
    assert (found.false_blame.value, found.placed.value) == (0.0, 1.0)
    assert (found.critic, found.judge, found.failures) == ("oracle", "model", len(oracle.seen))
    assert len(oracle.seen) == 6
    assert not any(t.solved for t in oracle.seen)


async def test_a_plant_without_a_failure_is_not_measured() -> None:
    (plant,) = (plant for plant in FEW if plant.name == "two turns")
    sound = Plant(name="nothing broken", dimension=None, fault="", student=plant.student, each=1)
    with pytest.raises(DataError, match="fails none of its 4 tasks"):
        await measure(Oracle([sound]), judge="model", plants=[sound])


async def test_a_suggestion_is_at_fault_at_in_or_around_the_place() -> None:
    (plant,) = (plant for plant in FEW if plant.name == "two turns")
    critic = Oracle([plant])
    failed = next(t for t in await plant.episodes(seed=0) if not t.solved)
    blame = await critic.attribute(failed, plant.harness)
    for path, expected in (
        ("middleware.loop.max_turns", True),
        ("middleware.loop", True),
        ("middleware.loop.stop", False),
    ):
        edit = FieldEdit(field_path=path, new_value=1)
        told = blame.model_copy(update={"diff_suggestion": edit})
        assert at_fault(plant, told) is expected
    assert not at_fault(plant, blame.model_copy(update={"diff_suggestion": None}))


async def test_the_rule_critic_blames_rightly_what_it_was_mended_by() -> None:
    critic = RuleCritic(await published(Storefront()))
    found = await measure(critic, judge="rule", episodes=2)
    assert found.macro_recall.value is not None
    assert found.false_blame.value is not None
    assert found.macro_recall.value >= 0.8
    assert found.false_blame.value <= 0.1
    assert all(d.recall.value is not None and d.recall.value >= 0.6 for d in found.dimensions)
    assert "`--plants fourth` is the check" in render(found)


def test_the_command_says_what_judged_and_refuses_a_critic_it_does_not_know() -> None:
    commands.attach()
    ran = CliRunner().invoke(
        app, ["bench", "critic", "--critic", "random", "--plants", "second", "--episodes", "1"]
    )
    assert ran.exit_code == 0
    assert "critic random: a control, which blames nothing" in ran.stdout
    assert "20 planted faults, 5 agent errors" in ran.stdout
    assert "macro recall 0%" in ran.stdout
    wrong = CliRunner().invoke(app, ["bench", "critic", "--critic", "oracle"])
    assert isinstance(wrong.exception, ModelError)
