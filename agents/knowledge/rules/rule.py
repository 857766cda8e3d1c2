"""What a hint rule is: its settings, the variables its text may use, and what it looks for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from evener.agents.knowledge.seen import Seen
from evener.protocols.digest import JsonObject, Wire, canonical

Found: TypeAlias = Mapping[str, str]


class RuleSettings(Wire):
    """Base of a rule's settings."""


S = TypeVar("S", bound=RuleSettings)
BoundRule: TypeAlias = Callable[[Seen], Found | None]


@dataclass(frozen=True)
class Rule(Generic[S]):
    """An entry of the table. `look` gives a value for each of `variables`, or None; `text` is the
    text that a hint of this rule has where nothing better is known."""

    name: str
    settings: type[S]
    variables: tuple[str, ...]
    look: Callable[[S, Seen], Found | None]
    text: str

    def bind(self, settings: JsonObject) -> BoundRule:
        """The rule with its settings. Raises pydantic's ValidationError where they do not fit."""
        made = self.settings.model_validate_json(canonical(settings))
        look = self.look
        return lambda seen: look(made, seen)


AnyRule: TypeAlias = Rule[Any]
