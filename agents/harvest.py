"""Collect the student's accepted runs under the harness that will serve it: the trainer's data.

Every task is run greedily once; one that is not solved gets resamples at a temperature above 0.
"""

from collections.abc import Sequence

from evener.agents.plan import Training, derive
from evener.agents.rollouts import Rollouts
from evener.protocols.model import ModelRef
from evener.protocols.reference import EpisodeRef
from evener.protocols.task import Purpose, Task
from evener.protocols.trajectory import Outcome


async def harvest(
    rollouts: Rollouts,
    tasks: Sequence[Task],
    *,
    harness: str,
    model: ModelRef,
    training: Training,
    seed: int,
) -> tuple[EpisodeRef, ...]:
    """All `collect` episodes, solved or not, at most 1 + `resamples` for each task."""
    episodes: list[EpisodeRef] = []
    left = list(tasks)
    for attempt in range(training.resamples + 1):
        done = await rollouts.run(
            left,
            harness=harness,
            model=model,
            purpose=Purpose.COLLECT,
            seed=derive(seed, "collect", attempt),
            attempt=attempt,
            temperature=training.temperature if attempt else 0.0,
            label="collecting accepted runs" if not attempt else f"trying again ({attempt})",
        )
        episodes += done
        left = [
            task
            for task, episode in zip(left, done, strict=True)
            if episode.outcome is not Outcome.SOLVED
        ]
        if not left:
            break
    return tuple(episodes)
