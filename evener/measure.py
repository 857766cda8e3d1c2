"""One cell outside a run's plan: a harness under a model on tasks, with its figures."""

from collections.abc import Sequence

from evener.agents.record.log import EventLog
from evener.agents.record.run import RunFolder
from evener.agents.rollouts import Rollouts
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.summary import Cell
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import Trajectory
from evener.report.cell import cell

SEALED = (Split.TEST, Split.OOD)


def look(log: EventLog, split: Split, *, harness: str, model: str) -> int:
    """Log a look at a sealed split, and say which one it is; 0 for the other splits."""
    if split not in SEALED:
        return 0
    log.append("look", {"split": split, "harness": harness, "model": model})
    return sum(body["split"] == split for body in log.bodies("look"))


async def measure(
    rollouts: Rollouts,
    folder: RunFolder,
    tasks: Sequence[Task],
    *,
    harness: Harness,
    model: ModelRef,
    split: Split,
    seed: int,
    name: str,
    version: str,
    attempt: int = 0,
    temperature: float = 0.0,
) -> tuple[Cell, list[Trajectory]]:
    """The cell `name` and its episodes, one for each task; what is finished in the folder's store
    is not run again. CPU-seconds are those of this call."""
    record = folder.record
    before = folder.cpu_seconds()
    episodes = await rollouts.run(
        tasks,
        harness=record.put(harness),
        model=model,
        purpose=Purpose.EVALUATE,
        seed=seed,
        attempt=attempt,
        temperature=temperature,
        label=f"{model} under {version} on {split}" + (f", try {attempt}" if attempt else ""),
    )
    found = [record.get(Trajectory, episode.trajectory) for episode in episodes]
    figures = cell(
        found,
        name=name,
        model=str(model),
        harness=version,
        split=split,
        seed=seed,
        cpu_seconds=round(folder.cpu_seconds() - before, 1),
    )
    return figures, found
