"""Keys in the environment of a program of the user's: it gets them all, our files get none.

A variable counts as a key by its name; its value is then cut out of whatever is written down.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence

from evener.agents.models.remote.outcome import plain
from evener.protocols.error import ConfigError

_NAME = re.compile(r"(?i)(key|token|secret|passw(or)?d|credentials?|auth)(_|$)")
_LOGIN = re.compile(r"://[^/\s@]*:[^/\s@]+@")
_SHORTEST = 8  # what is shorter stands in texts by chance
_HIDDEN = "…"


class Secrets:
    """The values that look like keys in `environment`; `more` names further variables."""

    def __init__(
        self, environment: Mapping[str, str] | None = None, *, more: Iterable[str] = ()
    ) -> None:
        variables = os.environ if environment is None else environment
        named = set(more)
        values = {
            value.strip()
            for name, value in variables.items()
            if (name in named or _NAME.search(name)) and len(value.strip()) >= _SHORTEST
        }
        # of two, one within the other, the longer goes first
        self._values = sorted(values, key=len, reverse=True)

    def hide(self, text: str) -> str:
        """The text without any of them."""
        for value in self._values:
            text = text.replace(value, _HIDDEN)
        return text

    def refuse(self, command: Sequence[str], *, where: str) -> None:
        """ConfigError for a command with a key in it: a command stands in the run's manifest."""
        for part in command:
            hidden = self.hide(part) != part or plain(part).count(_HIDDEN) > part.count(_HIDDEN)
            if hidden or _LOGIN.search(part):
                raise ConfigError(
                    "the command holds what looks like a key, and it is written down",
                    where=where,
                    remedy="let the program read it from its environment, which it is given whole",
                )
