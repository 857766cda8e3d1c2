"""Near misses read as calls: fences, prose around, other key names, encoded or empty arguments.

Objects are tried from each `{` in turn, by decoding. Only where a format admits several calls are
further ones read, and only those that follow the first in the same block, behind a `;` or in the
next fence. What was mended is said, and what stands around the calls is handed back.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from evener.agents.harness.decode import Malformed, repaired_at, value_at
from evener.agents.harness.shape import Shape
from evener.protocols.digest import JsonObject
from evener.protocols.event import Repair

LONGEST = 100_000
MOST_TRIES = 64
MOST_CALLS = 16

_NAMES = ("name", "tool", "function", "tool_name")
_ARGUMENTS = ("arguments", "parameters", "args")
_BETWEEN = re.compile(
    r"\s*(?:[;,]\s*|</tool_call>\s*<tool_call>\s*|<\|python_tag\|>\s*|```\s*```\w*\s*)?(?=\{)"
)
_WRAPPERS: tuple[tuple[Repair, re.Pattern[str]], ...] = (
    ("fence", re.compile(r"```\w*")),
    ("tags", re.compile(r"</?tool_call>")),
    ("python_tag", re.compile(r"<\|python_tag\|>")),
)
_END_MARKS = re.compile(r"<\|(?:eom_id|eot_id|im_end|end|endoftext)\|>")
_SEPARATORS = "[],; \t\r\n"


@dataclass(frozen=True)
class Near:
    """Calls read leniently, what was mended, and the text around them without its wrappers."""

    shapes: tuple[Shape, ...]
    repairs: tuple[Repair, ...]
    rest: str


@dataclass(frozen=True)
class _Found:
    shape: Shape
    start: int
    end: int
    repairs: tuple[Repair, ...]


def near_calls(text: str, offered: Sequence[str], *, several: bool) -> Near | None:
    """The call the text makes, or the calls where `several` are admitted; None where none."""
    text = text[:LONGEST]
    first = _first(text, offered)
    if first is None:
        return None
    found = [first]
    while several and len(found) < MOST_CALLS:
        gap = _BETWEEN.match(text, found[-1].end)
        following = _at(text, gap.end(), offered) if gap else None
        if following is None:
            break
        found.append(following)
    repairs, rest = _around(text, found)
    for one in found:
        repairs.extend(repair for repair in one.repairs if repair not in repairs)
    return Near(tuple(one.shape for one in found), tuple(repairs), rest)


def _around(text: str, found: Sequence[_Found]) -> tuple[list[Repair], str]:
    """What stands around the calls: the wrappers there are, and the text that is none."""
    starts = [one.start for one in found]
    ends = [one.end for one in found]
    pieces = [text[a:b] for a, b in zip([0, *ends], [*starts, len(text)], strict=True)]
    around = _END_MARKS.sub("", "\n".join(pieces))
    repairs: list[Repair] = []
    for repair, wrapper in _WRAPPERS:
        if wrapper.search(around):
            repairs.append(repair)
            around = wrapper.sub("", around)
    rest = around.strip(_SEPARATORS)
    if rest:
        repairs.append("text")
    return repairs, rest


def _first(text: str, offered: Sequence[str]) -> _Found | None:
    at = -1
    for _ in range(MOST_TRIES):
        at = text.find("{", at + 1)
        if at < 0:
            return None
        found = _at(text, at, offered)
        if found is not None:
            return found
    return None


def _at(text: str, start: int, offered: Sequence[str]) -> _Found | None:
    repairs: list[Repair] = []
    try:
        value, end = value_at(text, start)
    except Malformed:
        try:
            value, end, mending = repaired_at(text, start)
        except Malformed:
            return None
        repairs.append(mending)
    shape = _shape(value, offered, repairs)
    return None if shape is None else _Found(shape, start, end, tuple(repairs))


def _shape(value: JsonValue, offered: Sequence[str], repairs: list[Repair]) -> Shape | None:
    """The call that an object means. Without arguments it must name a tool on offer."""
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    if isinstance(inner, dict):
        repairs.append("key")
        return _shape(inner, offered, repairs)
    named = next((key for key in _NAMES if isinstance(value.get(key), str)), None)
    if named is None:
        return None
    name = str(value[named])
    key = next((key for key in _ARGUMENTS if key in value), None)
    if {named, key or "arguments"} != {"name", "arguments"} or set(value) - {named, key}:
        repairs.append("key")
    if key is None or not isinstance(value[key], dict):
        repairs.append("arguments")
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
