"""How an answer is compared with the expected one. A person's own scorer is any such function."""

import importlib
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from pydantic import JsonValue

from evener.protocols.error import ConfigError

Scorer: TypeAlias = Callable[[JsonValue, JsonValue], float | bool]
"""(answer, expected) → a value in 0…1; 1 is solved."""

_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")


def exact(answer: JsonValue, expected: JsonValue) -> bool:
    """Equal as text, but for spaces at the ends."""
    return str(answer).strip() == str(expected).strip()


def number(answer: JsonValue, expected: JsonValue) -> bool:
    """The last number in the answer is the expected one, to 1e-6 of it."""
    found = _NUMBER.findall(str(answer))
    wanted = _NUMBER.findall(str(expected))
    if not found or not wanted:
        return False
    given, right = (float(text[-1].replace(",", "")) for text in (found, wanted))
    return abs(given - right) <= 1e-6 * max(1.0, abs(right))


SCORERS: Mapping[str, Scorer] = {"exact": exact, "number": number}


def find(scorer: Scorer | str) -> Scorer:
    """A scorer by name, or as `package.module:function`. Raises ConfigError."""
    if not isinstance(scorer, str):
        return scorer
    if scorer in SCORERS:
        return SCORERS[scorer]
    module, _, name = scorer.partition(":")
    remedy = (
        f"Use {' or '.join(SCORERS)}, or package.module:function; a module that is not installed "
        "is found where PYTHONPATH names its folder"
    )
    if not name:
        raise ConfigError(f"there is no scorer {scorer!r}", remedy=remedy)
    try:
        found: Scorer = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"cannot be imported: {error}", where=f"scorer {scorer!r}", remedy=remedy
        ) from None
    return found
