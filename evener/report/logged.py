"""Lines of the summary that stand in the log as documents of their own.

A resumed run logs them again; the last one of a name counts.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from evener.protocols.digest import JsonObject, Wire, canonical
from evener.protocols.summary import Arm, Control, Effect, PredictionLine

T = TypeVar("T", bound=Wire)


def predictions(bodies: Iterable[JsonObject]) -> tuple[PredictionLine, ...]:
    """One for each accepted patch."""
    return _last(PredictionLine, bodies, lambda line: (line.round, line.iteration, line.patch))


def effects(bodies: Iterable[JsonObject]) -> tuple[Effect, ...]:
    """One for each version."""
    return _last(Effect, bodies, lambda effect: effect.version)


def controls(bodies: Iterable[JsonObject]) -> tuple[Control, ...]:
    """One of each name."""
    return _last(Control, bodies, lambda control: control.name)


def arms(bodies: Iterable[JsonObject]) -> tuple[Arm, ...]:
    """One of each name."""
    return _last(Arm, bodies, lambda arm: arm.name)


def _last(
    kind: type[T], bodies: Iterable[JsonObject], key: Callable[[T], Hashable]
) -> tuple[T, ...]:
    found = (kind.model_validate_json(canonical(body)) for body in bodies)
    return tuple({key(one): one for one in found}.values())
