"""Every planted fault is what its failures come from: the same student solves the same tasks on the
sound harness, and fails some of them on the broken one."""

from collections import Counter

import pytest

from evener.agents.harness import check
from evener.bench.critic.plants import FOURTH, PLANTS, SECOND, SETS, THIRD, Plant
from evener.bench.critic.plants.view import understood
from evener.environments.storefront import Storefront
from evener.environments.storefront.action import ACTIONS
from evener.protocols.patch import Patch
from evener.protocols.path import overlap
from evener.protocols.task import Purpose, Split
from evener.protocols.trajectory import Outcome

ALL = [plant for plants in SETS.values() for plant in plants]
ANY = pytest.mark.parametrize("plant", ALL, ids=lambda plant: plant.name)


def test_as_many_faults_of_every_dimension_and_errors_of_the_agent() -> None:
    counted = Counter(plant.dimension for plant in PLANTS)
    assert counted == {"P": 8, "T": 8, "S": 8, "Mid": 8, "M": 8, None: 10}
    second = Counter(plant.dimension for plant in SECOND)
    assert second == {"P": 4, "T": 4, "S": 4, "Mid": 4, "M": 4, None: 5}
    assert Counter(plant.dimension for plant in THIRD) == counted
    assert Counter(plant.dimension for plant in FOURTH) == counted
    assert len({plant.name for plant in ALL}) == 175


@ANY
@pytest.mark.parametrize("seed", [0, 1])
async def test_the_student_solves_all_without_the_fault_and_fails_some_with_it(
    plant: Plant, seed: int
) -> None:
    control = await plant.control(seed=seed)
    assert [t.task.prompt for t in control if not t.solved] == []
    made = await plant.episodes(seed=seed)
    failed = [t for t in made if not t.solved]
    assert failed
    assert all(t.outcome is not Outcome.INFRA for t in made)
    assert all(t.task.split is Split.MINE and t.key.purpose is Purpose.MINE for t in made)
    assert all(t.key.harness == plant.harness.digest() for t in made)


@ANY
def test_the_fault_is_one_edit_of_its_dimension_on_a_harness_that_still_runs(plant: Plant) -> None:
    check.check(plant.harness, ACTIONS)
    if plant.dimension is None:
        assert plant.harness == plant.sound
        assert plant.careful is not None
        return
    section = {"P": "prompt", "T": "tools", "S": "skills", "Mid": "middleware", "M": "memory"}
    assert plant.edit is not None
    assert plant.harness != plant.sound
    assert all(overlap(path, section[plant.dimension]) for path in plant.acceptable)
    broken = Patch(base=plant.sound.digest(), edits=(plant.edit,))
    assert broken.apply(plant.sound) == plant.harness
    assert broken.inverse(plant.sound).apply(plant.harness) == plant.sound


@pytest.mark.parametrize(
    "plant",
    [plant for plant in (*THIRD, *FOURTH) if plant.dimension is None],
    ids=lambda plant: plant.name,
)
@pytest.mark.parametrize("seed", [0, 1])
async def test_a_student_of_a_blind_set_slips_on_about_half_of_the_tasks(
    plant: Plant, seed: int
) -> None:
    made = await plant.episodes(seed=seed)
    assert 0.3 <= sum(not t.solved for t in made) / len(made) <= 0.7


@pytest.mark.parametrize(
    "plant",
    [plant for plant in FOURTH if plant.dimension is not None],
    ids=lambda plant: plant.name,
)
@pytest.mark.parametrize("seed", [0, 1])
async def test_a_fault_of_the_fourth_set_fails_a_quarter_of_its_tasks_and_has_failures_to_vote(
    plant: Plant, seed: int
) -> None:
    made = await plant.episodes(seed=seed)
    failed = [t for t in made if not t.solved]
    assert len(failed) >= max(3, len(made) / 4)


def test_no_fault_of_the_fourth_set_is_an_edit_of_an_earlier_one() -> None:
    earlier = [plant for plant in (*PLANTS, *SECOND, *THIRD) if plant.dimension is not None]
    edits = {(plant.path, repr(plant.edit.new_value)) for plant in earlier if plant.edit}
    assert all(
        (plant.path, repr(plant.edit.new_value)) not in edits for plant in FOURTH if plant.edit
    )


def test_every_question_of_the_desk_is_understood() -> None:
    tasks = Storefront().tasks(Split.MINE, count=96, seed=5)
    assert [t.kind for t in tasks] == [q.kind for t in tasks if (q := understood(t.prompt))]


async def test_a_student_sees_no_more_than_its_window_shows_it() -> None:
    plant = next(plant for plant in PLANTS if plant.name == "narrow window")
    made = await plant.episodes(seed=0)
    said = {t.task.id: {m.content for m in t.messages if m.sampled} for t in made}
    assert all(len(texts) == 1 for texts in said.values())
