"""Lines of the summary that stand in the log as documents of their own."""

from collections.abc import Iterable
from typing import TypeVar

from evener.agents.record.log import latest
from evener.protocols.digest import JsonObject, Wire, canonical
from evener.protocols.summary import (
    Arm,
    Control,
    Effect,
    PredictionLine,
    Recovery,
    RecoveryMeans,
)

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


def recovery(bodies: Iterable[JsonObject]) -> tuple[Recovery, ...]:
    """One for each pattern."""
    last = list(bodies)[-1:]
    lines = last[0]["lines"] if last else []
    assert isinstance(lines, list)
    return tuple(Recovery.model_validate_json(canonical(line)) for line in lines)


def recovery_means(bodies: Iterable[JsonObject]) -> RecoveryMeans | None:
    """Over the patterns that count; None where none was measured."""
    last = list(bodies)[-1:]
    return RecoveryMeans.model_validate_json(canonical(last[0]["means"])) if last else None


def _last(kind: type[T], bodies: Iterable[JsonObject], *fields: str) -> tuple[T, ...]:
    return tuple(kind.model_validate_json(canonical(body)) for body in latest(bodies, *fields))
