"""Libraries of the extra `llm`, imported where they are used."""

import os
from importlib import import_module
from typing import Any

from evener.protocols.error import ModelError


def extra(name: str) -> Any:
    """The module `name`. ModelError with the command to install it where it is missing."""
    if name == "litellm":
        # without it, importing fetches a price list from the network
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        raise ModelError(
            f"{error.name} is not installed", remedy="pip install 'evener[llm]'"
        ) from None
