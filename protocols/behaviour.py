"""A detector made of two predicates over a trajectory: the occasion, and what is done on it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from pydantic import JsonValue

from evener.protocols.conduct import well_formed
from evener.protocols.digest import JsonObject
from evener.protocols.trajectory import Trajectory

Predicate: TypeAlias = Callable[[Trajectory], bool]


def always(trajectory: Trajectory) -> bool:
    """An occasion that every episode offers."""
    return True


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """A `Detector` (see `port.py`). A conditional one applies only to an episode with a well-formed
    call, besides its `occasion`. `settings` are the data that the predicates were made from."""

    name: str
    part: str
    text: str
    shown: Predicate
    occasion: Predicate = always
    conditional: bool = False
    settings: JsonObject = field(default_factory=dict[str, JsonValue])

    def applies(self, trajectory: Trajectory) -> bool:
        """Whether the episode offers the occasion."""
        if self.conditional and not well_formed(trajectory):
            return False
        return self.occasion(trajectory)

    def shows(self, trajectory: Trajectory) -> bool:
        """Whether the episode has the occasion and the behaviour."""
        return self.applies(trajectory) and self.shown(trajectory)
