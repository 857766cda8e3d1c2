"""What a student is told of a reply that could not be read, or was read only in part."""

from collections.abc import Sequence

from evener.agents.harness.lenient import loose_calls
from evener.protocols.event import ParseFault
from evener.protocols.harness import Harness, WireFormat

_HOW = {
    "json": 'Answer with exactly one JSON object {"name": …, "arguments": {…}} and nothing else.',
    "hermes": (
        'Answer with <tool_call>\n{"name": …, "arguments": {…}}\n</tool_call> and nothing else.'
    ),
    "native": "Answer with a tool call.",
}


def correction(
    fault: ParseFault, detail: str, *, protocol: WireFormat, offered: Sequence[str]
) -> str:
    """One text that names the fault, says what to do, and lists the tools there are."""
    match fault:
        case "cut_by_length":
            first = f"Nothing was executed: {detail}. Be brief."
        case "several_calls":
            first = f"Nothing was executed: {detail}. Make one call at a time."
        case "call_in_reasoning":
            first = f"Nothing was executed: {detail}. Write the call behind the reasoning."
        case _:
            first = f"Nothing was executed: {detail}."
    return f"{first} {_HOW[protocol.format]} Tools: {', '.join(offered)}."


def ignored(harness: Harness, reply: str, *, offered: Sequence[str]) -> str | None:
    """What to say of a repaired reply that held more calls than the format takes; None if not."""
    if harness.middleware.protocol.format != "json":
        return None
    count = len(loose_calls(reply, offered, several=True))
    if count < 2:
        return None
    return f"Only the first of {count} calls was executed. Make one call at a time."
