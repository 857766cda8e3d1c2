"""Splits with fewer tasks than the plan's looks ask for: nothing ends in the middle of a run."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evener.agents.models.scripted import ScriptedModel
from evener.config import RunConfig
from evener.enough import enough
from evener.matrix.run import matrix
from evener.parts import Parts
from evener.protocols.error import ConfigError, DataError
from evener.protocols.task import Split, Task
from evener.team import Team

Hire = Callable[[Any], ScriptedModel]


class Pool:
    """So many tasks of a desk in every split, like a person's own file."""

    def __init__(self, desk: Any, size: int) -> None:
        self._desk = desk
        self._size = size

    def __getattr__(self, name: str) -> Any:
        return getattr(self._desk, name)

    def tasks(self, split: Split, *, count: int, seed: int) -> Sequence[Task]:
        tasks = self._desk.tasks(split, count=self._size, seed=0)
        if count > self._size:
            raise DataError(f"{split} has {self._size} tasks, {count} were asked for")
        return tuple(random.Random(f"{split}/{seed}").sample(list(tasks), count))


def pool(desk: Any, size: int) -> Any:
    return Pool(desk, size)


def changed(config: RunConfig, part: str, **values: object) -> RunConfig:
    inner = getattr(config.plan, part).model_copy(update=values)
    return config.model_copy(update={"plan": config.plan.model_copy(update={part: inner})})


async def test_looks_that_ask_for_more_tasks_than_there_are_take_all_of_them(
    support: Any, crew: Callable[[], Parts], tmp_path: Path
) -> None:
    config = support.two_rounds(support.small_config())
    config = changed(config, "trials", watch=40)
    config = changed(config, "search", race_tasks=12)  # lighter harnesses: 24 mining tasks

    def parts() -> Parts:
        made = crew()
        made.environment = pool(made.environment, 20)
        return made

    async with Team.open(config, tmp_path / "run", parts=parts()) as team:
        summary = await team.run()
        looks = list(team.folder.record.bodies("watched"))
        stages = {str(body["stage"]) for body in team.folder.record.bodies("spent")}
    assert summary.state == "finished"
    assert "lighter" in stages
    assert looks
    assert all(look["n"] == 20 for look in looks)
    summary = await matrix(tmp_path / "run", only=("effects",), parts=parts())
    assert [e.n for e in summary.effects if not e.fault] == [20, 20]


@pytest.mark.parametrize(
    ("temperature", "size", "fault"),
    [(0.3, 7, "held_out has 7 tasks, 8"), (0.0, 39, "held_out has 39 tasks, 40")],
)
def test_tasks_that_no_trial_can_be_won_with_are_named_before_the_run(
    config: RunConfig, desk: Any, temperature: float, size: int, fault: str
) -> None:
    config = changed(config, "trials", temperature=temperature)
    config = changed(config, "search", mine_tasks=1)
    config = changed(config, "evaluation", test_tasks=1)
    with pytest.raises(DataError, match=fault):
        enough(pool(desk, size), config)
    enough(pool(desk, size + 1), config)
    enough(pool(desk, 3), changed(config, "search", iterations=0, mine_tasks=1))


def test_rollouts_that_no_trial_can_be_won_with_are_named_before_the_run(
    config: RunConfig, desk: Any
) -> None:
    with pytest.raises(ConfigError, match=r"with 109 rollouts no trial can end in ACCEPT.*110"):
        enough(desk, changed(config, "trials", rollouts=109))
    enough(desk, changed(config, "trials", rollouts=110))


def test_a_split_that_is_too_small_is_told_with_the_key_that_asks_for_it(
    config: RunConfig, desk: Any
) -> None:
    wanting = changed(config, "evaluation", test_tasks=500)
    with pytest.raises(DataError, match=r"test has 400 tasks.*plan\.evaluation\.test_tasks"):
        enough(pool(desk, 400), wanting)
