"""The desk's four actions: exact, unforgiving, and with an `error_kind` for every refusal.

A leading space, a plural unit or a number in quotes is an error here; mending is a harness's work.
"""

import difflib
from collections.abc import Mapping
from fractions import Fraction

from evener.environments.storefront.calculator import (
    LARGEST,
    BadExpressionError,
    evaluate,
    formatted,
)
from evener.environments.storefront.unit import UNITS, convert
from evener.protocols.digest import JsonObject
from evener.protocols.port import ActionSpec, Observation


def _schema(**properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


_UNIT: JsonObject = {"type": "string", "enum": list(UNITS)}

ACTIONS: tuple[ActionSpec, ...] = (
    ActionSpec(
        name="calculator",
        description="Works out an expression of numbers with + - * / and parentheses.",
        parameters=_schema(expression={"type": "string"}),
    ),
    ActionSpec(
        name="lookup",
        description="The price of one piece of an item of the catalogue, by its exact name.",
        parameters=_schema(item={"type": "string"}),
    ),
    ActionSpec(
        name="convert",
        description="Converts a value from one unit to another.",
        parameters=_schema(value={"type": "number"}, **{"from": _UNIT, "to": _UNIT}),
    ),
    ActionSpec(
        name="final",
        description="Ends the task with the answer, a number.",
        parameters=_schema(answer={"type": "number"}),
        final=True,
    ),
)


def calculate(expression: str) -> Observation:
    """The result with at most two decimals, or why there is none."""
    try:
        return Observation(text=formatted(evaluate(expression)))
    except BadExpressionError as error:
        return Observation(text=str(error), error_kind=error.kind)


def look_up(item: str, prices: Mapping[str, int]) -> Observation:
    """The price as a bare number, or the nearest item there is."""
    if item in prices:
        return Observation(text=str(prices[item]))
    return _unknown("item", item, tuple(prices))


def converted(value: float, source: str, target: str) -> Observation:
    """The converted value with at most two decimals, or what is wrong with the units."""
    for unit in (source, target):
        if unit not in UNITS:
            return _unknown("unit", unit, tuple(UNITS))
    if abs(value) > LARGEST:
        return Observation(text=f"the value is over {LARGEST}", error_kind="too_large")
    if UNITS[source][0] != UNITS[target][0]:
        return Observation(
            text=f"cannot convert {source} to {target}", error_kind="incompatible_units"
        )
    return Observation(text=formatted(convert(Fraction(repr(value)), source, target)))


def _unknown(what: str, given: str, known: tuple[str, ...]) -> Observation:
    near = difflib.get_close_matches(given, known, n=1)
    hint = f"; nearest: {near[0]!r}" if near else ""
    return Observation(text=f"unknown {what} {given[:40]!r}{hint}", error_kind=f"unknown_{what}")
