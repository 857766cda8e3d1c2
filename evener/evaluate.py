"""One cell of a run outside its plan: any version, any trained model, any split.

A look at a sealed split is logged and counted, whoever takes it.
"""

from pathlib import Path

from evener.agents.harness.check import check
from evener.agents.pattern.background import published
from evener.agents.record.registry import Registry
from evener.agents.rollouts import Rollouts
from evener.measure import SEALED, measure
from evener.protocols.error import ConfigError
from evener.protocols.model import ModelRef
from evener.protocols.summary import Cell
from evener.protocols.task import Split
from evener.protocols.wire import ModelServed, ServeModel
from evener.team import Parts, Team


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
        check(harness, (await published(team.environment)).actions)
        ref = await serve(team, model)
        record = team.folder.record
        looks = 0
        if split in SEALED:
            looks = 1 + sum(body["split"] == split for body in record.bodies("look"))
            record.append("look", {"split": split, "harness": name, "model": str(ref)})
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


async def serve(team: Team, model: str) -> ModelRef:
    """The ref of `base`, or of a model that the run or an arm beside it trained, loaded beside the
    base."""
    if model == "base":
        return team.base
    trained = {
        Path(str(body["folder"])).name: body["model"]
        for body in team.folder.record.bodies("trained", "arm_model")
        if body["model"] is not None
    }
    if model not in trained:
        known = ", ".join(["base", *trained])
        raise ConfigError(f"no model {model!r}", where="--model", remedy=f"there are {known}")
    # the run folder may have been moved since: the adapter is looked for where it is now
    folder = str(team.folder.models / model)
    request = ServeModel(model=ModelRef.model_validate(trained[model]), folder=folder)
    return (await team.bus.ask("student", request, ModelServed)).model
