"""What a call looks like once decoded, and text that looks like one and is none."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from evener.protocols.digest import JsonObject

_THINK = re.compile(r"\s*<think>(.*?)(</think>|\Z)", re.DOTALL)
_CALL_LIKE = re.compile(
    r"<tool_call>|</tool_call>|<\|python_tag\|>|<function=|[\"'](name|tool|function)[\"']\s*:"
    r"|<function_calls>|<invoke name=|\[TOOL_CALLS\]|<\|tool_call|```tool_(?:call|code)"
)


@dataclass(frozen=True)
class Shape:
    """Name and arguments, not yet checked against any tool."""

    name: str
    arguments: JsonObject


def call_of(value: JsonValue) -> Shape | str:
    """The call that an object is, by the letter, or what is wrong with it."""
    if not isinstance(value, dict):
        return "a call is a JSON object with name and arguments"
    name, arguments = value.get("name"), value.get("arguments")
    if not isinstance(name, str):
        return 'the object has no "name"' if name is None else '"name" is not text'
    if "arguments" not in value:
        return 'the object has no "arguments"'
    if not isinstance(arguments, dict):
        return '"arguments" is not an object'
    extra = sorted(set(value) - {"name", "arguments"})
    if extra:
        return f"the object has more than name and arguments: {', '.join(extra)}"
    return Shape(name, arguments)


def split_reasoning(text: str) -> tuple[str, str]:
    """(visible text, reasoning) of a reply that begins with a <think> block, closed or not."""
    found = _THINK.match(text)
    return (text[found.end() :], found.group(1)) if found else (text, "")


def looks_like_call(text: str, offered: Sequence[str]) -> bool:
    """Whether a reader would say that somebody tried to call a tool here."""
    if _CALL_LIKE.search(text):
        return True
    return any(re.search(rf"(?<!\w){re.escape(name)}\(", text) for name in offered)
