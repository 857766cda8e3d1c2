"""The heavy libraries, imported where they are used and typed as `Any`.

`import evener.agents.models` stays light; a library that is missing is one clear line.
"""

from importlib import import_module
from typing import Any

from evener.protocols.error import ModelError


def library(name: str, *, package: str = "") -> Any:
    """The module `name`. ModelError with the command to install it, or what `package` has it, where
    it is missing."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        raise ModelError(
            f"{error.name} is not installed", remedy=f"pip install {package or error.name}"
        ) from error
