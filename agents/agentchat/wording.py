"""One line for an entry of a run's log: its own words where it has some, else its figures.

Digests and lists of them are for programs, who find them in the entry's body.
"""

import re

from pydantic import JsonValue

from evener.protocols.digest import JsonObject

_DIGEST = re.compile(r"^[0-9a-f]{16,}$")


def wording(kind: str, body: JsonObject) -> str:
    """`kind: …`."""
    text = body.get("text")
    if isinstance(text, str) and text:
        return f"{kind}: {text}"
    said = [f"{name} {word}" for name, value in body.items() if (word := _word(value))]
    return f"{kind}: {', '.join(said)}" if said else kind


def _word(value: JsonValue) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return str(value)
        case float():
            return f"{value:.4g}"
        case str() if not _DIGEST.match(value):
            return value
        case {"base": str(base), "adapter": str(adapter)}:
            return f"{base}+{adapter}"
        case {"base": str(base)}:
            return base
        case _:
            return ""
