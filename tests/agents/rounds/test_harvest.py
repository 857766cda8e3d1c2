"""Collecting accepted runs, with and without a limit."""

from collections import Counter
from collections.abc import Sequence

import pytest

from evener.agents.plan import Training
from evener.agents.rollouts import Rollouts
from evener.agents.rounds.harvest import harvest
from evener.protocols.digest import Wire
from evener.protocols.model import ModelRef
from evener.protocols.reference import EpisodeRef
from evener.protocols.task import Split, Task
from evener.protocols.trajectory import Outcome
from evener.protocols.wire import RolloutFinished, RolloutRequest

TASKS = [Task(id=f"t{at}", split=Split.MINE, prompt="?") for at in range(4)]


class Office:
    """Solves task n at attempt n, the last one never."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int, float]] = []

    async def ask(
        self, recipient: str, message: Wire, reply: type[RolloutFinished], /
    ) -> RolloutFinished:
        assert isinstance(message, RolloutRequest)
        self.asked.append((message.task.id, message.attempt, message.temperature))
        solved = message.task.id != "t3" and message.attempt >= int(message.task.id[1:])
        return RolloutFinished(
            episode=EpisodeRef(
                trajectory=f"{message.task.id}-{message.attempt}",
                episode="",
                task=message.task.id,
                kind="",
                outcome=Outcome.SOLVED if solved else Outcome.FAILED,
                reward=float(solved),
            )
        )


async def collect(
    office: Office, *, limit: int | None, resamples: int, patience: int | None = None
) -> Sequence[EpisodeRef]:
    return await harvest(
        Rollouts(office),
        TASKS,
        harness="h",
        model=ModelRef(base="b", revision="r"),
        training=Training(resamples=resamples),
        seed=1,
        limit=limit,
        patience=patience,
    )


async def test_only_what_is_not_solved_is_tried_again_and_warmer() -> None:
    office = Office()
    await collect(office, limit=None, resamples=2)
    assert Counter(task for task, _, _ in office.asked) == {"t0": 1, "t1": 2, "t2": 3, "t3": 3}
    assert {temperature for _, attempt, temperature in office.asked if not attempt} == {0.0}
    assert {temperature for _, attempt, temperature in office.asked if attempt} == {0.7}


@pytest.mark.parametrize("limit", [3, 4, 6, 11])
async def test_a_limit_is_used_to_the_last_episode_and_never_passed(limit: int) -> None:
    office = Office()
    episodes = await collect(office, limit=limit, resamples=1000)
    assert len(episodes) == len(office.asked) == limit


async def test_passes_that_solve_nothing_new_end_the_collection() -> None:
    office = Office()
    await collect(office, limit=None, resamples=1000, patience=3)
    assert max(attempt for _, attempt, _ in office.asked) == 2 + 3
