"""Libraries of the extra `llm`, imported where they are used."""

import os
from typing import Any

from evener.agents.models.local.library import library


def extra(name: str) -> Any:
    """The module `name`. ModelError with the command to install it where it is missing."""
    # without it, importing litellm fetches a price list from the network
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    return library(name, package="'evener[llm]'")
