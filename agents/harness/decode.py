"""JSON as models write it: strict decoding with object boundaries, and a repair that never guesses.

The end of an object is found by decoding it, never by searching for a tag or a brace. Repair takes
trailing commas and Python literals; it never closes what was left open.
"""

import ast
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal, NoReturn, TypeAlias, cast

from pydantic import JsonValue

from evener.protocols.digest import JsonObject

Mending: TypeAlias = Literal["trailing_comma", "python_literal"]

LONGEST_REPAIR = 20_000
DEEPEST_REPAIR = 60

_SURROGATE = re.compile("[\ud800-\udfff]")
_TRAILING_COMMA = re.compile(r"""("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])""", re.DOTALL)


class Malformed(ValueError):
    """Text that is no JSON value; the message says what and where."""


def _unique(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    made = dict(pairs)
    if len(made) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise Malformed(f"the key {twice!r} twice")
    return made


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise Malformed(f"{text} is out of range")
    return value


def _no_constant(name: str) -> NoReturn:
    raise Malformed(f"{name} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_constant
)


def value_at(text: str, start: int) -> tuple[JsonValue, int]:
    """The JSON value that begins at `start`, and where it ends. Raises Malformed."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise Malformed(f"{error.msg} at character {error.pos}") from None
    except Malformed:
        raise
    except (ValueError, RecursionError) as error:
        raise Malformed(f"unreadable: {type(error).__name__}") from None
    return _clean(value) if _SURROGATE.search(text) or "\\u" in text else value, end


def repaired_at(text: str, start: int) -> tuple[JsonValue, int, Mending]:
    """As `value_at` for an object with trailing commas or written as a Python literal; which."""
    end = _closing(text, start)
    piece = text[start:end]
    without = _TRAILING_COMMA.sub(lambda found: found.group(1) or "", piece)
    with suppress(Malformed):
        return value_at(without, 0)[0], end, "trailing_comma"
    try:
        literal: object = ast.literal_eval(piece)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError) as error:
        raise Malformed(f"not repairable: {type(error).__name__}") from None
    return _clean(_as_json(literal)), end, "python_literal"


def _closing(text: str, start: int) -> int:
    """Just behind the bracket that closes the one at `start`. Raises Malformed."""
    depth, quote, at = 0, "", start
    limit = min(len(text), start + LONGEST_REPAIR)
    while at < limit:
        char = text[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == quote:
                quote = ""
        elif char in "\"'":
            quote = char
        elif char in "{[(":
            depth += 1
            if depth > DEEPEST_REPAIR:
                break
        elif char in "}])":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    raise Malformed("it is not closed")


def _as_json(value: object) -> JsonValue:
    match value:
        case None | bool() | int() | str():
            return value
        case float() if value - value == 0:
            return value
        case list() | tuple():
            return [_as_json(item) for item in cast("Sequence[object]", value)]
        case dict() if all(isinstance(key, str) for key in cast("dict[object, object]", value)):
            items = cast("dict[object, object]", value).items()
            return {str(key): _as_json(item) for key, item in items}
        case _:
            raise Malformed(f"a {type(value).__name__} is not JSON")


def writable(text: str) -> str:
    """The text with U+FFFD for every half of a surrogate pair, which no text file can hold."""
    return _SURROGATE.sub("\ufffd", text)


def _clean(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return writable(value)
        case list():
            return [_clean(item) for item in value]
        case dict():
            return {writable(key): _clean(item) for key, item in value.items()}
        case _:
            return value
