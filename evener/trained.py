"""The models that a run trained, by name, and how to have one served."""

from pathlib import Path

from evener.agents.record.run import RunFolder
from evener.protocols.error import ConfigError
from evener.protocols.model import ModelRef
from evener.protocols.wire import ServeModel


def trained_model(folder: RunFolder, name: str, *, where: str) -> ServeModel:
    """The adapter `name` that the run or an arm beside it trained, in the run folder as it is now:
    it may have been moved since. Raises ConfigError with the names there are."""
    models = {
        Path(str(body["folder"])).name: body["model"]
        for body in folder.record.bodies("trained", "arm_model")
        if body["model"] is not None
    }
    if name not in models:
        known = ", ".join(["base", *models])
        raise ConfigError(f"no model {name!r}", where=where, remedy=f"there are {known}")
    return ServeModel(model=ModelRef.model_validate(models[name]), folder=str(folder.models / name))
