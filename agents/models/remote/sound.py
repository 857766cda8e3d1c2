"""What a server says, made fit to be kept: text that can be written down, and finite numbers.

JSON lets half a character, a number without end and any depth through; a log takes none of them.
"""

from math import isfinite

from pydantic import JsonValue

from evener.agents.harness.decode import writable
from evener.agents.models.remote.outcome import CallFault

DEEPEST = 64
LARGEST = 1 << 62
BULK = ("logprobs", "token_ids", "prompt_token_ids", "prompt_logprobs")
"""Long lists of numbers, which are read with care and never kept."""


def sound(value: JsonValue, depth: int = 0) -> JsonValue:
    """The same value with texts that can be written down. Raises CallFault(`malformed`) where it is
    nested too deeply, or holds a number that is not finite or has no end."""
    if depth > DEEPEST:
        raise CallFault("malformed", "the answer is nested too deeply")
    match value:
        case str():
            return writable(value)
        case dict():
            return {
                writable(key): part if key in BULK else sound(part, depth + 1)
                for key, part in value.items()
            }
        case list():
            return [sound(part, depth + 1) for part in value]
        case bool() | None:
            return value
        case int() if abs(value) < LARGEST:
            return value
        case float() if isfinite(value):
            return value
        case _:
            raise CallFault("malformed", "the answer holds a number that is none")
