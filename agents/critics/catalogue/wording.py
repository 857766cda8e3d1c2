"""Texts that the catalogue writes: how a call is put, and schema texts where there are none."""

from typing import Literal

Format = Literal["json", "hermes", "native"]

CALL: dict[Format, str] = {
    "json": 'Reply with one JSON object a turn: {"name": tool, "arguments": {...}}.',
    "hermes": (
        'Reply with one call a turn: <tool_call>{"name": tool, "arguments": {...}}</tool_call>'
    ),
    "native": "Call one tool a turn.",
}


def system_text(wire: Format) -> str:
    """How to reply, and the tools on offer, one a line (a template)."""
    return f"{CALL[wire]}\nTools:\n{{{{ tools }}}}"


def only_calls(wire: Format) -> str:
    """The line that rules out a plain answer (plain text)."""
    return f"{CALL[wire]} Write nothing else."
