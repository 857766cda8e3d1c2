"""The sealed test: every preregistered cell once, greedily, on tasks nobody has seen.

Cells are fixed by what the run changed: base under the seed harness, under each extra arm, under
the evolved harness, and the trained model under the evolved and the seed harness. Cells that are
added beside them later are run on the same tasks with the same seed.
"""

from collections.abc import Callable, Mapping, Sequence

from evener.agents.plan import Plan, derive
from evener.agents.rollouts import Rollouts
from evener.agents.run import Run, Standing
from evener.protocols.digest import JsonObject, Wire
from evener.protocols.model import ModelRef
from evener.protocols.port import Environment, Log
from evener.protocols.reference import EpisodeRef
from evener.protocols.task import Purpose, Split, Task


class CellPlan(Wire):
    """One cell before it is run: its fixed name, model, harness digest, and who reviews."""

    name: str
    model: ModelRef
    harness: str
    label: str
    review: str = ""


def cells(
    first: Standing, last: Standing, *, trained: ModelRef | None, arms: Mapping[str, str]
) -> tuple[CellPlan, ...]:
    """The cells of a run, `model+harness` each."""
    base = first.model
    plan = [CellPlan(name="base+seed", model=base, harness=first.harness, label=first.version)]
    plan += [
        CellPlan(name=f"base+{name}", model=base, harness=digest, label=name)
        for name, digest in arms.items()
    ]
    plan.append(CellPlan(name="base+evolved", model=base, harness=last.harness, label=last.version))
    if trained is not None:
        plan += [
            CellPlan(
                name="trained+evolved", model=trained, harness=last.harness, label=last.version
            ),
            CellPlan(
                name="trained+seed", model=trained, harness=first.harness, label=first.version
            ),
        ]
    return tuple(plan)


class Sealed:
    """The sealed tasks of a run: equal plans on equal environments have the same ones."""

    def __init__(
        self,
        environment: Environment,
        plan: Plan,
        *,
        rollouts: Rollouts,
        cpu_seconds: Callable[[], float],
    ) -> None:
        self.seed = derive(plan.seed, "sealed")
        self._environment = environment
        self._plan = plan
        self._rollouts = rollouts
        self._cpu_seconds = cpu_seconds

    @property
    def splits(self) -> tuple[Split, ...]:
        """The splits that the plan has tasks of."""
        return tuple(split for split in (Split.TEST, Split.OOD) if self._count(split))

    def tasks(self, split: Split) -> Sequence[Task]:
        """The sealed tasks of a split."""
        return self._environment.tasks(split, count=self._count(split), seed=self.seed)

    async def run(
        self, cell: CellPlan, split: Split, *, attempt: int = 0, temperature: float = 0.0
    ) -> tuple[tuple[EpisodeRef, ...], float]:
        """One episode for each sealed task, and the CPU-seconds they took."""
        before = self._cpu_seconds()
        episodes = await self._rollouts.run(
            self.tasks(split),
            harness=cell.harness,
            model=cell.model,
            purpose=Purpose.EVALUATE,
            seed=self.seed,
            attempt=attempt,
            temperature=temperature,
            label=f"sealed {split}: {cell.name}",
            review=cell.review,
        )
        return episodes, self._cpu_seconds() - before

    async def run_all(self, plan: Sequence[CellPlan], *, log: Log) -> None:
        """Every cell on `test`, then on `ood` if asked for; its episodes go to the log."""
        for split in self.splits:
            for cell in plan:
                episodes, seconds = await self.run(cell, split)
                log.append("cell", self.entry(cell, split, episodes, cpu_seconds=seconds))

    def entry(
        self,
        cell: CellPlan,
        split: Split,
        episodes: Sequence[EpisodeRef],
        *,
        cpu_seconds: float,
    ) -> JsonObject:
        """The body of a `cell` entry in the run's log."""
        return {
            "name": cell.name,
            "model": str(cell.model),
            "harness": cell.label,
            "split": str(split),
            "seed": self._plan.seed,
            "episodes": [episode.trajectory for episode in episodes],
            "cpu_seconds": cpu_seconds,
        }

    def _count(self, split: Split) -> int:
        evaluation = self._plan.evaluation
        return evaluation.test_tasks if split is Split.TEST else evaluation.ood_tasks


async def run_cells(run: Run, plan: tuple[CellPlan, ...]) -> None:
    """Run every cell on `test`, then on `ood` if asked for, and log its episodes."""
    sealed = Sealed(
        run.environment, run.plan, rollouts=run.rollouts, cpu_seconds=run.meter.cpu_seconds
    )
    await sealed.run_all(plan, log=run.log)
