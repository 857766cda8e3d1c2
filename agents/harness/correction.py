"""What a student is told of a reply that could not be read, or was read only in part."""

from collections.abc import Sequence

from evener.agents.harness.lenient import near_calls
from evener.agents.harness.parse import admits_several
from evener.agents.harness.reasoning import set_apart
from evener.protocols.event import Parsed, ParseFault
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


def ignored(harness: Harness, parsed: Parsed, reply: str, *, offered: Sequence[str]) -> str | None:
    """What to say of a repaired reply that held more calls than were taken; None if it did not."""
    if not parsed.repaired:
        return None
    if admits_several(harness):
        further = near_calls(parsed.ignored, offered, several=True)
        if further is None:
            return None
        names = ", ".join(shape.name for shape in further.shapes)
        return f"Not executed: {names}. Write calls one behind the other, with no text between."
    if harness.middleware.protocol.format == "native":
        if "first_of_several" not in parsed.repairs:
            return None
        return f"Only the first call was executed, not: {parsed.ignored}. Make one call at a time."
    if "in_reasoning" in parsed.repairs:
        if "first_of_several" not in parsed.repairs:
            return None
        return f"Only the first call was executed, not: {parsed.ignored}. Make one call at a time."
    near = near_calls(set_apart(reply)[0], offered, several=True)
    count = 0 if near is None else len(near.shapes)
    if count < 2:
        return None
    return f"Only the first of {count} calls was executed. Make one call at a time."
