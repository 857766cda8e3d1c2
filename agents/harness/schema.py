"""JSON Schema of arguments: which argument is at fault and how, and types read as the schema says.

Schemas are Draft 2020-12, resolve nothing from outside themselves, and argument order (which JSON
leaves open) is `required` first, the rest by name: so equal harnesses read the same.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, cast

from jsonschema import Draft202012Validator, SchemaError
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from pydantic import JsonValue
from referencing import Registry
from referencing.exceptions import Unresolvable

from evener.protocols.digest import JsonObject
from evener.protocols.error import HarnessError
from evener.protocols.event import RefusalReason

_INTEGER = re.compile(r"[-+]?\d{1,18}")
_NUMBER = re.compile(r"[-+]?(\d{1,18}(\.\d{0,30})?|\.\d{1,30})([eE][-+]?\d{1,2})?")
_NOTHING: Registry[Any] = Registry()


@dataclass(frozen=True)
class Fault:
    """Why arguments do not fit. `nearest` is a known name or value close to what was written."""

    reason: RefusalReason
    argument: str
    detail: str
    nearest: str = ""


class Arguments:
    """The arguments of a tool or action, by its schema. An empty schema admits anything."""

    def __init__(self, schema: JsonObject) -> None:
        properties = schema.get("properties")
        required = schema.get("required")
        self.properties: dict[str, JsonValue] = properties if isinstance(properties, dict) else {}
        self.required = tuple(str(name) for name in required) if isinstance(required, list) else ()
        rest = sorted(name for name in self.properties if name not in self.required)
        self.names = (*self.required, *rest)
        extra = schema.get("additionalProperties")
        self._closed = bool(schema) and (extra is False or extra is None)
        self._validator = Draft202012Validator(schema, registry=_NOTHING) if schema else None

    def ordered(self, arguments: Mapping[str, JsonValue]) -> JsonObject:
        """The same arguments in the schema's order."""
        first = [name for name in self.names if name in arguments]
        return {name: arguments[name] for name in [*first, *sorted(set(arguments) - set(first))]}

    def typed(self, name: str, value: JsonValue) -> JsonValue:
        """The value in the type that the schema wants, where that is certain; else unchanged."""
        schema = self.properties.get(name)
        return as_schema(value, schema) if isinstance(schema, dict) else value

    def fault(self, arguments: JsonObject) -> Fault | None:
        """The first fault of the arguments, or None."""
        if self._validator is None:
            return None
        missing = [name for name in self.required if name not in arguments]
        if self._closed:
            for name in arguments:
                if name not in self.properties:
                    return self._unexpected(name, missing, set(arguments))
        if missing:
            known = ", ".join(self.names)
            return Fault("missing_argument", missing[0], f"{missing[0]} is missing ({known})")
        try:
            error = _first(self._validator, arguments)
        except (Unresolvable, RecursionError, re.error) as broken:
            raise HarnessError(f"the schema cannot be used: {broken}", where="parameters") from None
        return None if error is None else _explained(error)

    def _unexpected(self, name: str, missing: list[str], given: set[str]) -> Fault:
        """An argument nobody knows; where one is missing, it is taken for the one that was meant"""
        free = [known for known in self.names if known not in given]
        near = get_close_matches(name, missing or free, 1)
        nearest = near[0] if near else (missing[0] if len(missing) == 1 else "")
        detail = f"there is no argument {name} ({', '.join(self.names) or 'it takes none'})"
        return Fault("unexpected_argument", name, detail, nearest)


def check(schema: JsonObject, *, where: str) -> None:
    """Refuse what is not a JSON Schema of type object that stands on its own."""
    if not schema:
        return
    if schema.get("type") != "object":
        raise HarnessError(
            "parameters must be a JSON Schema of type object",
            where=where,
            remedy="write type: object and properties: {…}",
        )
    outside = next((ref for ref in _references(schema) if not ref.startswith("#")), None)
    if outside is not None:
        raise HarnessError(f"$ref to {outside!r} leads outside the schema", where=where)
    try:
        Draft202012Validator.check_schema(schema)
        _first(Draft202012Validator(schema, registry=_NOTHING), {})
    except SchemaError as error:
        place = "".join(f".{step}" for step in error.absolute_path)
        raise HarnessError(
            f"not a JSON Schema: {error.message[:200]}", where=where + place
        ) from None
    except (Unresolvable, RecursionError, re.error) as error:
        raise HarnessError(f"not a usable JSON Schema: {error}", where=where) from None


def types_of(schema: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """The types a property's schema admits; empty where it does not say."""
    match schema.get("type"):
        case str(one):
            return (one,)
        case list(several):
            return tuple(str(name) for name in several)
        case _:
            return ()


def as_schema(value: JsonValue, schema: Mapping[str, JsonValue]) -> JsonValue:
    """The value with all that is inside it in the types of the schema; itself where it fits."""
    made = as_type(value, _admitted(schema))
    fields, items = schema.get("properties"), schema.get("items")
    if isinstance(made, dict) and isinstance(fields, dict):
        inside: JsonObject = {
            name: as_schema(one, known) if isinstance(known := fields.get(name), dict) else one
            for name, one in made.items()
        }
        return inside if any(inside[name] is not one for name, one in made.items()) else made
    if isinstance(made, list) and isinstance(items, dict):
        fitted = [as_schema(one, items) for one in made]
        return fitted if any(a is not b for a, b in zip(fitted, made, strict=True)) else made
    return made


def _admitted(schema: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """The types a schema admits, those of its alternatives where it names none itself."""
    types = types_of(schema)
    if types:
        return types
    for key in ("anyOf", "oneOf"):
        branches = schema.get(key)
        if isinstance(branches, list):
            each = [types_of(one) if isinstance(one, dict) else () for one in branches]
            return tuple(name for names in each for name in names) if all(each) else ()
    return ()


def as_type(value: JsonValue, types: tuple[str, ...]) -> JsonValue:
    """Text that spells a value of a wanted type becomes it; a number wanted as text becomes text.

    Nothing is guessed: a string stays one wherever the schema admits strings.
    """
    match value:
        case str():
            return value if not types or "string" in types else _spelled(value.strip(), types)
        case bool():
            return value
        case int() | float() if types == ("string",):
            return json.dumps(value)
        case float() if "integer" in types and "number" not in types and value.is_integer():
            return int(value)
        case _:
            return value


def _spelled(text: str, types: tuple[str, ...]) -> JsonValue:
    if {"integer", "number"} & set(types) and _INTEGER.fullmatch(text):
        return int(text)
    if "number" in types and _NUMBER.fullmatch(text):
        return float(text)
    if "boolean" in types and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if "null" in types and text.lower() in ("null", "none"):
        return None
    wanted = [kind for name, kind in (("array", list), ("object", dict)) if name in types]
    if wanted and text[:1] in ("[", "{"):
        try:
            value: JsonValue = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if isinstance(value, tuple(wanted)):
            return value
    return text


def _first(validator: Validator, value: JsonObject) -> ValidationError | None:
    faults: Iterator[ValidationError] = validator.iter_errors(  # pyright: ignore[reportUnknownMemberType] - its stubs
        value
    )
    return next(faults, None)


def _explained(error: ValidationError) -> Fault:
    place = [str(step) for step in error.absolute_path]
    argument = place[0] if place else ""
    written = json.dumps(error.instance, ensure_ascii=False)
    shown = written if len(written) <= 80 else written[:77] + "…"
    wanted: object = error.validator_value
    if error.validator == "type":
        words = " or ".join(cast("list[str]", wanted)) if isinstance(wanted, list) else str(wanted)
        return Fault("wrong_type", argument, f"{'.'.join(place)} must be {words}, not {shown}")
    if error.validator == "enum" and isinstance(wanted, list):
        allowed = [str(item) for item in cast("list[object]", wanted)]
        near = get_close_matches(str(error.instance), allowed, 1)
        listed = ", ".join(allowed[:20])
        return Fault(
            "wrong_value",
            argument,
            f"{'.'.join(place)} must be one of {listed}, not {shown}",
            near[0] if near else "",
        )
    return Fault("wrong_value", argument, f"{'.'.join(place)}: {error.message[:200]}")


def _references(value: JsonValue) -> Iterable[str]:
    match value:
        case dict():
            for key, inner in value.items():
                if key in ("$ref", "$dynamicRef") and isinstance(inner, str):
                    yield inner
                else:
                    yield from _references(inner)
        case list():
            for inner in value:
                yield from _references(inner)
        case _:
            pass
