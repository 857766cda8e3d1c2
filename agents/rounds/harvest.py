"""Collect the student's accepted runs under the harness that will serve it: the trainer's data.

Every task is run greedily once; one that is not solved gets resamples at a temperature above 0.
"""

from collections.abc import Sequence

from evener.agents.plan import Plan, Training, collect_seed, derive
from evener.agents.rollouts import Rollouts
from evener.protocols.model import ModelRef
from evener.protocols.port import Environment
from evener.protocols.reference import EpisodeRef
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import Outcome


def collect_tasks(environment: Environment, plan: Plan, number: int = 1) -> Sequence[Task]:
    """The tasks of `mine` that round `number` collects on."""
    count = plan.training.collect_tasks
    return environment.tasks(Split.MINE, count=count, seed=collect_seed(plan, number))


def solved(episodes: Sequence[EpisodeRef]) -> int:
    """How many tasks were solved in one of the episodes."""
    return len({e.task for e in episodes if e.outcome is Outcome.SOLVED})


async def harvest(
    rollouts: Rollouts,
    tasks: Sequence[Task],
    *,
    harness: str,
    model: ModelRef,
    training: Training,
    seed: int,
    limit: int | None = None,
    patience: int | None = None,
    review: str = "",
) -> tuple[EpisodeRef, ...]:
    """All `collect` episodes, solved or not, at most 1 + `resamples` for each task and `limit` in
    all; no more after `patience` passes in a row over all tasks left that solved none of them.
    `review` names a reviewer."""
    episodes: list[EpisodeRef] = []
    left = list(tasks)
    barren = 0
    for attempt in range(training.resamples + 1):
        now = left if limit is None else left[: limit - len(episodes)]
        if not now:
            break
        done = await rollouts.run(
            now,
            harness=harness,
            model=model,
            purpose=Purpose.COLLECT,
            seed=derive(seed, "collect", attempt),
            attempt=attempt,
            temperature=training.temperature if attempt else 0.0,
            label="collecting accepted runs" if not attempt else f"trying again ({attempt})",
            review=review,
        )
        episodes += done
        left = [
            task
            for task, episode in zip(now, done, strict=True)
            if episode.outcome is not Outcome.SOLVED
        ]
        barren = barren + 1 if len(left) == len(now) else 0
        if barren == patience:
            break
    return tuple(episodes)
