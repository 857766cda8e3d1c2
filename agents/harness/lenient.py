"""Near misses read as calls: fences, prose around, other key names, encoded or empty arguments.

Objects are tried from each `{` in turn, by decoding. Only where a format admits several calls are
further ones read, and only those that follow the first in the same block or behind a `;`.
"""

import re
from collections.abc import Sequence

from pydantic import JsonValue

from evener.agents.harness.decode import Malformed, repaired_at, value_at
from evener.agents.harness.shape import Shape
from evener.protocols.digest import JsonObject

LONGEST = 100_000
MOST_TRIES = 64
MOST_CALLS = 16

_NAMES = ("name", "tool", "function", "tool_name")
_ARGUMENTS = ("arguments", "parameters", "args")
_BETWEEN = re.compile(r"\s*(?:[;,]\s*|</tool_call>\s*<tool_call>\s*|<\|python_tag\|>\s*)?(?=\{)")


def loose_calls(text: str, offered: Sequence[str], *, several: bool) -> list[Shape]:
    """The call the text makes, or the calls where `several` are admitted; empty where none."""
    text = text[:LONGEST]
    found = _first(text, offered)
    if found is None:
        return []
    shape, end = found
    shapes = [shape]
    while several and len(shapes) < MOST_CALLS:
        gap = _BETWEEN.match(text, end)
        following = _at(text, gap.end(), offered) if gap else None
        if following is None:
            break
        shape, end = following
        shapes.append(shape)
    return shapes


def _first(text: str, offered: Sequence[str]) -> tuple[Shape, int] | None:
    at = -1
    for _ in range(MOST_TRIES):
        at = text.find("{", at + 1)
        if at < 0:
            return None
        found = _at(text, at, offered)
        if found is not None:
            return found
    return None


def _at(text: str, start: int, offered: Sequence[str]) -> tuple[Shape, int] | None:
    try:
        value, end = value_at(text, start)
    except Malformed:
        try:
            value, end = repaired_at(text, start)
        except Malformed:
            return None
    shape = _shape(value, offered)
    return None if shape is None else (shape, end)


def _shape(value: JsonValue, offered: Sequence[str]) -> Shape | None:
    """The call that an object means. Without arguments it must name a tool on offer."""
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    if isinstance(inner, dict):
        return _shape(inner, offered)
    name = next((n for key in _NAMES if isinstance(n := value.get(key), str)), None)
    if name is None:
        return None
    key = next((key for key in _ARGUMENTS if key in value), None)
    if key is None:
        bare = name in offered and len(value) == 1
        return Shape(name, {}) if bare else None
    arguments = _decoded(value[key])
    return None if arguments is None else Shape(name, arguments)


def _decoded(value: JsonValue) -> JsonObject | None:
    """Arguments as a mapping: null and blank text are none, text is decoded again."""
    for _ in range(4):
        match value:
            case None:
                return {}
            case dict():
                return value
            case str() if not value.strip():
                return {}
            case str():
                stripped = value.strip()
                try:
                    value, end = value_at(stripped, 0)
                except Malformed:
                    return None
                if end != len(stripped):
                    return None
            case _:
                return None
    return None
