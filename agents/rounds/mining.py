"""The student's own runs on mining tasks: what the critic may see, and what a patch may break."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evener.agents.plan import derive
from evener.agents.run import Run, Standing
from evener.protocols.error import InfraError
from evener.protocols.reference import EpisodeRef
from evener.protocols.task import Purpose, Task
from evener.protocols.trajectory import Outcome

FAILED = (Outcome.FAILED, Outcome.TRUNCATED)


@dataclass(frozen=True)
class Mined:
    """One greedy episode for each task, in the order of the tasks."""

    pairs: tuple[tuple[Task, EpisodeRef], ...]

    @property
    def failures(self) -> list[tuple[Task, EpisodeRef]]:
        """Those that the verifier did not accept; never infra."""
        return [(task, episode) for task, episode in self.pairs if episode.outcome in FAILED]

    @property
    def solved(self) -> list[Task]:
        """The tasks that were solved."""
        return [task for task, episode in self.pairs if episode.outcome is Outcome.SOLVED]

    def scored(self) -> Mapping[str, bool]:
        """Whether each scored task was solved, by its id."""
        return {
            task.id: episode.outcome is Outcome.SOLVED
            for task, episode in self.pairs
            if episode.outcome is not Outcome.INFRA
        }


async def mine(run: Run, number: int, standing: Standing, tasks: Sequence[Task]) -> Mined:
    """Run the tasks of round `number` under the harness and model in force.

    Raises InfraError where not one episode could be scored.
    """
    run.meter.check()
    episodes = await run.rollouts.run(
        tasks,
        harness=standing.harness,
        model=standing.model,
        purpose=Purpose.MINE,
        seed=derive(run.plan.seed, "mine", number),
        label=f"round {number}: mining failures of {standing.version}",
    )
    solved = sum(e.outcome is Outcome.SOLVED for e in episodes)
    infra = sum(e.outcome is Outcome.INFRA for e in episodes)
    run.record(
        "mined",
        {
            "round": number,
            "version": standing.version,
            "model": str(standing.model),
            "n": len(episodes),
            "solved": solved,
            "infra": infra,
        },
    )
    if infra == len(episodes):
        raise InfraError(
            f"none of {len(episodes)} mining episodes could be scored: the machinery failed in "
            "all of them (`evener trajectories list --outcome infra` shows how)"
        )
    run.progress.say(f"mining: {standing.version} solves {solved} of {len(episodes)}")
    return Mined(tuple(zip(tasks, episodes, strict=True)))
