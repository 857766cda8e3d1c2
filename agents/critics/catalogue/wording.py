"""Texts that the catalogue writes: how a call is put, and schema texts where there are none."""

from collections.abc import Sequence
from typing import Literal

from evener.agents.pattern.background import properties, required
from evener.protocols.harness import Tool

Format = Literal["json", "hermes", "native"]

CALL: dict[Format, str] = {
    "json": 'Reply with one JSON object a turn: {"name": tool, "arguments": {...}}.',
    "hermes": (
        'Reply with one call a turn: <tool_call>{"name": tool, "arguments": {...}}</tool_call>'
    ),
    "native": "Call one tool a turn.",
}


def procedure_text(tools: Sequence[Tool]) -> str:
    """The tools in the order of the procedure, each with its arguments: all that a skill's system
    text needs to say beside worked examples (a template)."""
    return literal(", then ".join(_called(tool) for tool in tools))


def literal(text: str) -> str:
    """A text as a template that renders to itself, but for a blank inside a template mark."""
    for mark in ("{{", "{%", "{#"):
        text = text.replace(mark, "{ " + mark[1])
    return text


def only_calls(wire: Format) -> str:
    """The line that rules out a plain answer (plain text)."""
    return f"{CALL[wire]} Write nothing else."


def _called(tool: Tool) -> str:
    """`name(argument, argument)`, the required ones first."""
    first = required(tool.parameters)
    rest = [name for name in properties(tool.parameters) if name not in first]
    return f"{tool.name}({', '.join([*first, *rest])})"
