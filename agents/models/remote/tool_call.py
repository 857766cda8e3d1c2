"""A provider's tool calls become ours, all of them or none: arguments by the letter, our own ids.

Empty arguments are none; a JSON text inside a JSON text is opened once. What cannot be read is not
repaired: it is put back as text, so that the harness sees that something looked like a call.
"""

import json
from dataclasses import dataclass

from pydantic import JsonValue

from evener.agents.harness.decode import Malformed, value_at
from evener.protocols.digest import JsonObject
from evener.protocols.message import Call


@dataclass(frozen=True)
class ReadCalls:
    """`calls` is empty where one of them could not be read; `text` then shows what was written.
    `unclosed`: one breaks off in the middle, so the reply was cut whatever it says."""

    calls: tuple[Call, ...] = ()
    text: str = ""
    unclosed: bool = False


def read_calls(value: JsonValue, *, first: int = 0) -> ReadCalls:
    """The calls of a reply. `first` numbers them on from those that were made before, so that ids
    are unique in a conversation and the same whenever it is run again."""
    if not isinstance(value, list) or not value:
        return ReadCalls()
    calls: list[Call] = []
    faulty = unclosed = False
    for index, item in enumerate(value):
        function = item.get("function") if isinstance(item, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        written = function.get("arguments") if isinstance(function, dict) else None
        try:
            arguments = _arguments(written)
        except Malformed:
            faulty = True
            unclosed = unclosed or (isinstance(written, str) and _unclosed(written))
            continue
        if not isinstance(name, str) or not name:
            faulty = True
            continue
        calls.append(Call(id=f"call_{first + index}", name=name, arguments=arguments))
    if faulty:
        return ReadCalls(text="\n".join(map(_as_text, value)), unclosed=unclosed)
    return ReadCalls(calls=tuple(calls))


def calls_as_text(calls: tuple[Call, ...]) -> str:
    """Calls that are not to be executed, as text."""
    return "\n".join(_block(json.dumps(c.name), json.dumps(c.arguments)) for c in calls)


def _arguments(written: JsonValue) -> JsonObject:
    value = _decoded(written)
    if isinstance(value, str):
        value = _decoded(value)
    if isinstance(value, dict):
        return value
    raise Malformed("the arguments are no object")


def _decoded(written: JsonValue) -> JsonValue:
    if written is None or (isinstance(written, str) and not written.strip()):
        return {}
    if not isinstance(written, str):
        return written
    start = len(written) - len(written.lstrip())
    value, end = value_at(written, start)
    if written[end:].strip():
        raise Malformed("there is text behind the arguments")
    return value


def _unclosed(text: str) -> bool:
    """Whether JSON text ends inside a string or before its brackets are closed."""
    depth, quoted, escaped = 0, False, False
    for char in text:
        if quoted:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                quoted = False
        elif char == '"':
            quoted = True
        elif char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
    return quoted or depth > 0


def _as_text(item: JsonValue) -> str:
    function = item.get("function") if isinstance(item, dict) else None
    if not isinstance(function, dict):
        return _block("null", json.dumps(item, ensure_ascii=False))
    written = function.get("arguments")
    arguments = written if isinstance(written, str) else json.dumps(written, ensure_ascii=False)
    return _block(json.dumps(function.get("name"), ensure_ascii=False), arguments)


def _block(name: str, arguments: str) -> str:
    return f'<tool_call>\n{{"name": {name}, "arguments": {arguments}}}\n</tool_call>'
