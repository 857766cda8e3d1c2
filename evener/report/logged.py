"""Lines of the summary that stand in the log as documents of their own."""

from collections.abc import Iterable
from typing import TypeVar

from evener.agents.record.log import latest
from evener.protocols.digest import JsonObject, Wire, canonical
from evener.protocols.summary import Arm, Control, Effect, PredictionLine

T = TypeVar("T", bound=Wire)


def predictions(bodies: Iterable[JsonObject]) -> tuple[PredictionLine, ...]:
    """One for each accepted patch."""
    return _last(PredictionLine, bodies, "round", "iteration", "patch")


def effects(bodies: Iterable[JsonObject]) -> tuple[Effect, ...]:
    """One for each version."""
    return _last(Effect, bodies, "version")


def controls(bodies: Iterable[JsonObject]) -> tuple[Control, ...]:
    """One of each name."""
    return _last(Control, bodies, "name")


def arms(bodies: Iterable[JsonObject]) -> tuple[Arm, ...]:
    """One of each name."""
    return _last(Arm, bodies, "name")


def _last(kind: type[T], bodies: Iterable[JsonObject], *fields: str) -> tuple[T, ...]:
    return tuple(kind.model_validate_json(canonical(body)) for body in latest(bodies, *fields))
