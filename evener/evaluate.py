"""One cell of a run outside its plan: any version, any trained model, any split.

A look at a sealed split is logged and counted, whoever takes it.
"""

from pathlib import Path

from evener.agents.record.registry import Registry
from evener.agents.rollouts import Rollouts
from evener.measure import look, measure
from evener.parts import Parts
from evener.protocols.summary import Cell
from evener.protocols.task import Split
from evener.team import Team


async def evaluate(
    run: Path,
    *,
    version: str,
    model: str,
    split: Split,
    count: int,
    seed: int,
    parts: Parts,
) -> tuple[Cell, int]:
    """The cell, and the number of this look at a sealed split (0 for the others)."""
    async with Team.reopen(run, parts=parts) as team:
        registry = Registry(team.folder.harness)
        name, harness = registry.head() if version == "HEAD" else (version, registry.get(version))
        team.check(harness)
        ref = await team.serve(model)
        looks = look(team.folder.record, split, harness=name, model=str(ref))
        found, _ = await measure(
            Rollouts(team.bus, progress=parts.progress),
            team.folder,
            team.environment.tasks(split, count=count, seed=seed),
            harness=harness,
            model=ref,
            split=split,
            seed=seed,
            name=f"{model}+{name}",
            version=name,
        )
        return found, looks
