"""The sealed test: every preregistered cell once, greedily, on tasks nobody has seen.

Cells are fixed by what the run changed: base under the seed harness, under each extra arm, under
the evolved harness, and the trained model under the evolved and the seed harness.
"""

from collections.abc import Mapping

from evener.agents.plan import derive
from evener.agents.run import Run, Standing
from evener.protocols.digest import Wire
from evener.protocols.model import ModelRef
from evener.protocols.task import Purpose, Split


class CellPlan(Wire):
    """One cell before it is run: its fixed name, model and harness digest."""

    name: str
    model: ModelRef
    harness: str
    label: str


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


async def run_cells(run: Run, plan: tuple[CellPlan, ...]) -> None:
    """Run every cell on `test`, then on `ood` if asked for, and log its episodes."""
    seed = derive(run.plan.seed, "sealed")
    for split, count in (
        (Split.TEST, run.plan.evaluation.test_tasks),
        (Split.OOD, run.plan.evaluation.ood_tasks),
    ):
        if not count:
            continue
        tasks = run.environment.tasks(split, count=count, seed=seed)
        for cell in plan:
            before = run.meter.cpu_seconds()
            episodes = await run.rollouts.run(
                tasks,
                harness=cell.harness,
                model=cell.model,
                purpose=Purpose.EVALUATE,
                seed=seed,
                label=f"sealed {split}: {cell.name}",
            )
            run.record(
                "cell",
                {
                    "name": cell.name,
                    "model": str(cell.model),
                    "harness": cell.label,
                    "split": str(split),
                    "seed": run.plan.seed,
                    "episodes": [episode.trajectory for episode in episodes],
                    "cpu_seconds": run.meter.cpu_seconds() - before,
                },
            )
