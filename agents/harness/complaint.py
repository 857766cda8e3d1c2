"""One line out of a schema's error: what is wrong, the field's path, and the nearest known name."""

from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Union, get_args, get_origin

from pydantic import BaseModel, JsonValue, ValidationError

from evener.agents.harness.document import kind

Place = tuple[int | str, ...]

_EXPECTED = {
    "bool_type": "true or false",
    "int_type": "an integer",
    "float_type": "a number",
    "string_type": "text (in quotes)",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}


def complaint(
    error: ValidationError, data: JsonValue, model: type[BaseModel]
) -> tuple[str, str, str]:
    """(what, field path, remedy) of the first fault; the number of further ones is in `what`."""
    first = error.errors(include_url=False)[0]
    more = error.error_count() - 1
    place, found = first["loc"], _found(data, first["loc"])
    path = field_path(data, place)
    tail = f" (and {more} more)" if more else ""
    if first["type"] == "extra_forbidden":
        known = sorted(_fields(model, place[:-1]))
        near = get_close_matches(str(place[-1]), known, 1)
        hint = f"did you mean {near[0]}? " if near else ""
        fields = f"known fields: {', '.join(known)}"
        return f"unknown field{tail}", path, hint + fields
    if first["type"] == "missing":
        return f"a required field is missing{tail}", path, ""
    if first["type"] in _EXPECTED:
        return f"expected {_EXPECTED[first['type']]}, found {kind(found)}{tail}", path, ""
    message = first["msg"].removeprefix("Value error, ")
    shown = "" if isinstance(found, dict | list) else f", found {kind(found)}"
    return f"{message[0].lower()}{message[1:]}{shown}{tail}", path, ""


def field_path(data: JsonValue, place: Place) -> str:
    """The place as a field path: list items by their name where they have one."""
    path, here = "", data
    for step in place:
        if isinstance(step, int):
            items = here if isinstance(here, list) else []
            here = items[step] if step < len(items) else None
            name = here.get("name") if isinstance(here, dict) else None
            path += f"[{name if isinstance(name, str) else step}]"
        else:
            here = here.get(step) if isinstance(here, dict) else None
            path += f".{step}" if path else step
    return path


def _found(data: JsonValue, place: Place) -> JsonValue:
    here = data
    for step in place:
        match here:
            case list() if isinstance(step, int) and step < len(here):
                here = here[step]
            case dict() if isinstance(step, str):
                here = here.get(step)
            case _:
                return None
    return here


def _fields(model: type[BaseModel], place: Place) -> set[str]:
    """The fields of the model at `place`, found by walking the annotations."""
    here: object = model
    for step in place:
        owner = _model_in(here)
        if isinstance(step, str) and owner is not None and step in owner.model_fields:
            here = owner.model_fields[step].annotation
        else:
            here = _inside(here)
    owner = _model_in(here)
    return set(owner.model_fields) if owner else set()


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Union, UnionType, Annotated):
        return next((m for m in map(_model_in, get_args(annotation)) if m is not None), None)
    return None


def _inside(annotation: object) -> object:
    """What a list or a mapping holds."""
    if get_origin(annotation) in (Union, UnionType, Annotated):
        inner = [_inside(part) for part in get_args(annotation)]
        return next((part for part in inner if part is not None), None)
    if get_origin(annotation) is tuple:
        return get_args(annotation)[0]
    if get_origin(annotation) is dict:
        return get_args(annotation)[1]
    return None
