"""Weights that the student's own endpoint serves under another name, and the file that says so.

A trainer elsewhere may leave no adapter, only the name of a model at the endpoint. The ref of such
a model follows from its base, that name, and the digest of what it was trained from.
"""

from pathlib import Path

from pydantic import Field, ValidationError

from evener.protocols.digest import Wire, digest
from evener.protocols.error import ModelError, RunError
from evener.protocols.model import ModelRef
from evener.protocols.port import Adaptable, Hosting, Model

HOSTED = "hosted.json"


class Hosted(Wire):
    """`model` is the name at the endpoint, `key` the digest of all that decided the training."""

    model: str = Field(min_length=1, max_length=300, pattern=r"^[!-~]+$")
    key: str

    def ref(self, base: ModelRef, name: str) -> ModelRef:
        """How the run calls it. What was trained from other rows is another model, also where the
        endpoint has one name for both."""
        revision = digest({"base": base.revision, "hosted": self.model, "key": self.key})
        return ModelRef(base=base.base, adapter=name, revision=revision)


def read_hosted(folder: Path) -> Hosted | None:
    """What the folder says of a hosted model; None where it holds an adapter or nothing. Raises
    RunError for a damaged file."""
    try:
        return Hosted.model_validate_json((folder / HOSTED).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise RunError(
            "damaged: it does not name a model", where=str(folder / HOSTED), remedy="restore it"
        ) from error


async def trained(model: Model, name: str, folder: Path) -> Model:
    """`model` with the weights that a trainer left in `folder`: an adapter that is loaded, or the
    name of a model at its endpoint. Raises ModelError where the model can have neither."""
    hosted = read_hosted(folder)
    if hosted is not None:
        if not isinstance(model, Hosting):
            raise ModelError(
                f"{model.ref} has no endpoint that serves {hosted.model!r}", where=str(folder)
            )
        return model.serving(hosted.model, hosted.ref(model.ref, name))
    if not isinstance(model, Adaptable):
        raise ModelError(f"{model.ref} cannot load adapters")
    return model.use(await model.load_adapter(name, folder))
