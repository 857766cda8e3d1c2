"""A key is an environment variable, read when a request is sent and kept nowhere."""

import json
import os
from dataclasses import dataclass

from evener.protocols.error import ModelError

SHORTEST, LONG = 4, 12
"""Characters of a key that is hidden, and of one that is hidden even if it could be a word."""


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
        if not self.value().isprintable():
            raise ModelError(
                "the key has a line end or a sign that cannot be sent",
                where=where,
                remedy=f"set the variable {self.variable} to the key alone",
            )

    def hide(self, text: str) -> str:
        """The text without the key, should a server repeat it: as it is, or as JSON writes it. A
        word such as `token` stays: servers of one's own are given such keys, and texts and names of
        fields have them."""
        value = self.value()
        word = len(value) < LONG and value.isalpha() and value.islower()
        if word or len(value) < SHORTEST:
            return text
        return text.replace(value, "…").replace(json.dumps(value)[1:-1], "…")


def wrong_key(variable: str) -> str:
    """What to do where a server does not take the key in `variable`, or got none."""
    if variable:
        return f"check the key in {variable}"
    return "name the variable that holds its key: provider.api_key_env"
