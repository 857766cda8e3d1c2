"""A person's change, of harness or weights, through the same gate as the run's own."""

from pathlib import Path

from evener.agents.record.name import safe_name
from evener.agents.record.registry import Registry
from evener.agents.record.run import RunFolder
from evener.config import of_run
from evener.parts import Parts
from evener.protocols.attribution import Proposal
from evener.protocols.diff import DiffRecord
from evener.protocols.error import ConfigError, ModelError
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.patch import between
from evener.protocols.port import Adaptable
from evener.protocols.wire import (
    ModelServed,
    ModelTried,
    PatchTried,
    ServeModel,
    TryModel,
    TryPatch,
)
from evener.searched import check_searched
from evener.team import Team


async def propose(
    run: Path, harness: Harness, *, name: str, model: str | None = None, parts: Parts
) -> DiffRecord:
    """The record of the trial of HEAD against `harness` under `model` (None: the one in force);
    committed if the gate accepts.

    Raises PatchError where the harness is what HEAD is already.
    """
    async with Team.reopen(run, parts=parts) as team:
        team.check(harness)
        _, head = Registry(team.folder.harness).head()
        patch = between(head, harness)
        patch.apply(head)
        # the name seeds the draw: another patch gets fresh tasks
        name = f"{name}-{patch.digest()[:8]}"
        tried = await team.bus.ask(
            "conductor",
            TryPatch(
                proposal=Proposal(name=name, author="person", patch=patch, kind="improve"),
                model=await team.serve(model or in_force(team)),
            ),
            PatchTried,
        )
        return tried.record


async def propose_model(run: Path, adapter: Path, *, name: str, parts: Parts) -> ModelTried:
    """The verdict on a LoRA adapter from outside against the model in force, under HEAD. The
    adapter stays where it is, and the run's own model in force.

    Raises ModelError that says what is wrong with the adapter, ConfigError for a name that the run
    has given already.
    """
    safe_name(name, what="model")
    with RunFolder.read(run) as folder:
        check_searched(folder)
        config = of_run(folder)
        if (folder.models / name).exists():
            raise ConfigError(
                f"the run has a model {name!r}", where="--name", remedy="give another name"
            )
    async with parts.student(config) as model:
        if not isinstance(model, Adaptable):
            raise ModelError(f"{model.ref} cannot load adapters", where=str(adapter))
        ref = await model.load_adapter(name, adapter)
        async with Team.reopen(run, parts=parts.with_model(model)) as team:
            await team.bus.ask("student", ServeModel(model=ref, folder=str(adapter)), ModelServed)
            before = await team.serve(in_force(team))
            request = TryModel(model=ref, before=before)
            return await team.bus.ask("conductor", request, ModelTried)


def in_force(team: Team) -> str:
    """The name of the model in force at the run's end; `base` where the run is not over."""
    ends = list(team.folder.record.bodies("ended"))
    model = ModelRef.model_validate(ends[-1]["model"]) if ends else None
    return (model.adapter if model else None) or "base"
