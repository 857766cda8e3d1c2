"""A against B on the same tasks with the same seeds; compared.py says what came of it."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from evener.agents.bus import Bus
from evener.agents.models.cache import CachedModel
from evener.agents.record.manifest import Manifest
from evener.agents.record.run import RunFolder
from evener.agents.rollouts import Rollouts
from evener.agents.student import Student
from evener.compared import Compared, judge
from evener.contender import Contender
from evener.measure import SEALED, look, measure
from evener.protocols.digest import JsonObject
from evener.protocols.error import ConfigError
from evener.protocols.port import Environment, Progress
from evener.protocols.summary import Cell
from evener.protocols.task import Split, Task
from evener.protocols.trajectory import Outcome, Trajectory
from evener.protocols.wire import ModelServed
from evener.report.cell import difference, rewards


async def compare(
    a: Contender,
    b: Contender,
    *,
    environment: Environment,
    split: Split,
    count: int,
    seed: int,
    temperature: float = 0.0,
    margin: float = 0.0,
    out: Path | None = None,
    progress: Progress,
) -> Compared:
    """Run both on `count` tasks of `split`. With `out` everything is kept there, and the same
    comparison goes on from there; without, nothing is left behind.

    Raises DataError for too few tasks, RunError where `out` holds something else.
    """
    if margin < 0:
        raise ConfigError(f"a margin of {margin:g} is below 0", where="--margin")
    tasks = environment.tasks(split, count=count, seed=seed)
    settings: JsonObject = {
        "split": str(split),
        "count": count,
        "seed": seed,
        "temperature": temperature,
    }
    manifest = Manifest.of(
        {"compare": settings},
        digests={
            "environment": environment.digest,
            **{f"harness {x}": side.harness.digest() for x, side in (("A", a), ("B", b))},
            **{f"model {x}": side.ref.revision for x, side in (("A", a), ("B", b))},
        },
        seeds={"compare": seed},
    )
    looks = _look((a, b), split)
    with ExitStack() as stack:
        place = out or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="evener-")))
        folder = stack.enter_context(RunFolder.open(place, manifest))
        sides = await _sides(
            a,
            b,
            folder,
            environment,
            tasks,
            split=split,
            seed=seed,
            temperature=temperature,
            progress=progress,
        )
        assert folder.session is not None
        folder.session.end_as("finished")
    same = a.harness.digest() == b.harness.digest() and a.ref == b.ref
    values = {name: rewards(episodes) for name, (_, episodes) in sides.items()}
    found = difference(values, "B", "A", split=split, seed=seed)
    coverage = found.n / len(tasks)
    causes = {name: _causes(episodes) for name, (_, episodes) in sides.items()}
    return Compared(
        a=sides["A"][0],
        b=sides["B"][0],
        difference=found,
        margin=margin,
        temperature=temperature,
        coverage=coverage,
        unscored={name: cause for name, cause in causes.items() if cause},
        looks=looks,
        finding=judge(found, margin, coverage=coverage, same=same),
    )


async def _sides(
    a: Contender,
    b: Contender,
    folder: RunFolder,
    environment: Environment,
    tasks: Sequence[Task],
    *,
    split: Split,
    seed: int,
    temperature: float,
    progress: Progress,
) -> dict[str, tuple[Cell, list[Trajectory]]]:
    """A, then B, each by the student that has its base model."""
    bus = Bus(folder.record)
    for name, side in _students(a, b).items():
        bus.join(name, Student(environment, CachedModel(side.model, folder.replies), folder.record))
    second = "student" if b.model is a.model else "student-b"
    found: dict[str, tuple[Cell, list[Trajectory]]] = {}
    async with bus:
        for name, side, student in (("A", a, "student"), ("B", b, second)):
            if side.adapter is not None:
                await bus.ask(student, side.adapter, ModelServed)
            found[name] = await measure(
                Rollouts(bus, progress=progress, student=student),
                folder,
                tasks,
                harness=side.harness,
                model=side.ref,
                split=split,
                seed=seed,
                name=name,
                version=side.label,
                temperature=temperature,
            )
    return found


def _students(a: Contender, b: Contender) -> dict[str, Contender]:
    return {"student": a} if b.model is a.model else {"student": a, "student-b": b}


def _causes(episodes: Sequence[Trajectory]) -> dict[str, int]:
    unscored = (t.score.error_kind or "unknown" for t in episodes if t.outcome is Outcome.INFRA)
    return dict(Counter(unscored))


def _look(sides: Sequence[Contender], split: Split) -> dict[str, int]:
    """Log and count a look at a sealed split in every run that a side was taken from."""
    looks: dict[str, int] = {}
    for run in dict.fromkeys(run for side in sides for run in side.runs):
        if split in SEALED:
            with RunFolder.change(run) as folder:
                labels = " against ".join(side.label for side in sides)
                looks[str(run)] = look(folder.record, split, harness=labels, model="")
    return looks
