"""A key is an environment variable, read when a request is sent and kept nowhere."""

import os
from dataclasses import dataclass

from evener.protocols.error import ModelError


@dataclass(frozen=True)
class Key:
    """The key in `variable`; no key at all where that is empty."""

    variable: str = ""

    def value(self) -> str:
        """What the variable holds; empty where it is not set."""
        return os.environ.get(self.variable, "").strip() if self.variable else ""

    def require(self, where: str) -> None:
        """ModelError that names the variable where it is not set."""
        if self.variable and not self.value():
            raise ModelError(
                "the key is missing", where=where, remedy=f"set the variable {self.variable}"
            )

    def hide(self, text: str) -> str:
        """The text without the key, should a server repeat it."""
        value = self.value()
        return text.replace(value, "…") if len(value) >= 4 else text


def wrong_key(variable: str) -> str:
    """What to do where a server does not take the key in `variable`, or got none."""
    if variable:
        return f"check the key in {variable}"
    return "name the variable that holds its key: provider.api_key_env"
