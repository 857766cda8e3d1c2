"""Fresh tasks, each once a round, from endless and from finite splits."""

import random
from collections.abc import Sequence

import pytest

from evener.agents.trials.supply import Supply
from evener.protocols.error import DataError
from evener.protocols.port import Session
from evener.protocols.task import Split, Task


class Tasks:
    """Gives `size` tasks, or endless ones, in an order of its own for every (count, seed)."""

    name = "tasks"
    digest = "d"

    def __init__(self, size: int | None = None) -> None:
        self.size = size
        self.asked: list[int] = []

    def tasks(self, split: Split, *, count: int, seed: int) -> Sequence[Task]:
        self.asked.append(count)
        if self.size is not None and count > self.size:
            raise DataError(f"{split} has {self.size} tasks, {count} were asked for")
        numbers = range(count) if self.size is None else range(self.size)
        drawn = random.Random(f"{seed}-{count}").sample(list(numbers), count)
        return [Task(id=f"{split}-{seed}-{at}", split=split, prompt=str(at)) for at in drawn]

    async def open(self, task: Task, *, seed: int) -> Session:
        raise NotImplementedError


def ids(supply: Supply, *counts: int) -> list[list[str]]:
    return [[draw.task.id for draw in supply.take(count)] for count in counts]


@pytest.mark.parametrize("size", [None, 100])
def test_portions_never_share_a_task(size: int | None) -> None:
    portions = ids(Supply(Tasks(size), Split.HELD_IN, seed=1), 10, 7, 1, 30)
    assert [len(portion) for portion in portions] == [10, 7, 1, 30]
    assert len({task for portion in portions for task in portion}) == 48


def test_equal_seeds_give_equal_draws_and_other_seeds_fresh_ones() -> None:
    first = ids(Supply(Tasks(), Split.HELD_IN, seed=1), 5, 5)
    assert first == ids(Supply(Tasks(), Split.HELD_IN, seed=1), 5, 5)
    other = ids(Supply(Tasks(), Split.HELD_IN, seed=2), 5, 5)
    assert not {t for p in first for t in p} & {t for p in other for t in p}


@pytest.mark.parametrize("counts", [(50,), (20, 20), (37,), (38,), (1, 40), (36, 1, 1)])
def test_a_finite_split_is_given_out_whole_and_then_no_more(counts: tuple[int, ...]) -> None:
    supply = Supply(Tasks(37), Split.HELD_OUT, seed=3)
    found = [task for portion in ids(supply, *counts) for task in portion]
    assert len(found) == len(set(found)) == min(37, sum(counts))
    rest = ids(supply, 50)[0]
    assert len(rest) == 37 - len(found)
    assert not set(rest) & set(found)
    assert supply.take(1) == []


def test_a_finite_split_may_be_gone_through_again_with_numbered_rounds() -> None:
    supply = Supply(Tasks(3), Split.HELD_OUT, seed=3, repeats=2)
    drawn = supply.take(20)
    assert [draw.repeat for draw in drawn] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert len({draw.task.id for draw in drawn}) == 3
    assert supply.take(1) == []


def test_a_split_without_tasks_is_an_error_of_the_environment() -> None:
    with pytest.raises(DataError, match="held_out has 0 tasks"):
        Supply(Tasks(0), Split.HELD_OUT, seed=3).take(5)


def test_nothing_asked_is_nothing_drawn() -> None:
    tasks = Tasks()
    assert Supply(tasks, Split.HELD_IN, seed=1).take(0) == []
    assert tasks.asked == []
