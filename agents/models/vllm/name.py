"""`vllm/WEIGHTS` is a model on a server of our own; what follows names weights as elsewhere."""

from evener.agents.models.home import expanded

PREFIX = "vllm/"


def is_managed(model: str) -> bool:
    """Whether a server is to be started for it. A folder that exists is a folder, and with a
    revision it is of the hub (`vllm/name@main`), unless the rest alone is a hub id with one."""
    if not model.startswith(PREFIX) or not weights_of(model):
        return False
    rest = weights_of(model)
    if "@" in rest and "/" not in rest.partition("@")[0]:
        return False
    return not expanded(model).exists()


def weights_of(model: str) -> str:
    """What stands behind `vllm/`: `embedded`, a folder, or a hub id."""
    return model.removeprefix(PREFIX)
