"""What would have made a refused argument right: strip, lower case, or another spelling.

Known values come from the action's schema, from the documentation and from the error's own text.
"""

import re
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from evener.agents.pattern.background import Background, choices, properties
from evener.agents.pattern.lexical import GRAMMAR, nearest, tokens

_QUOTED = re.compile(r"[\"'‘“`]([^\"'’”`]{1,60})[\"'’”`]")
ALIKE = 0.6  # likeness of letters from which on two words may be one
_LISTED = re.compile(r":\s*([^:.\n]*,[^:.\n]*)")


class Cure(NamedTuple):
    """The rule that mends the value, and what it becomes."""

    rule: Literal["strip", "lower", "alias"]
    value: str


def cure(
    value: str, *, action: str, argument: str, background: Background, error: str = ""
) -> Cure | None:
    """The mildest mend that leads to a known value, or None where nothing published helps."""
    spec = background.action(action)
    closed = choices(properties(spec.parameters).get(argument, {})) if spec else ()
    documented = background.values(action, argument)
    named = tuple(n for n in named_values(error) if n not in (value, value.strip()))
    known = tuple(dict.fromkeys((*closed, *named, *documented)))
    if value in closed:
        return None
    bare = value.strip()
    if bare != value and (not closed or bare in known):
        return Cure("strip", bare)
    lowered = bare.lower()
    if lowered != bare and (lowered in known or (not closed and _all_lower(documented))):
        return Cure("lower", lowered)
    # documentation shows some values of an open set: nearness to one of them proves nothing; nor is
    # a name of more or fewer words a spelling of one
    alike = tuple(n for n in named if len(n.split()) == len(value.split()))
    found = nearest(value, closed) or nearest(value, alike)
    return Cure("alias", found) if found and found != value else None


def mixed_up(value: str, asked: str) -> bool:
    """Whether a text is another name, and no spelling of one: it is made of words of the question
    that do not stand together there, or has a whole word changed of words that do."""
    words, made = tokens(asked), tokens(value)
    runs = {words[at : at + len(made)] for at in range(len(words))}
    if len(made) < 2 or made in runs:
        return False
    return set(made) <= set(words) or any(_exchanged(made, run) for run in runs)


def _exchanged(made: tuple[str, ...], run: tuple[str, ...]) -> bool:
    """Whether two names share a word and differ in words that are no spellings of each other."""
    if len(made) != len(run) or not set(made) & set(run) - GRAMMAR:
        return False
    unlike = [(a, b) for a, b in zip(made, run, strict=True) if a != b]
    return bool(unlike) and all(SequenceMatcher(None, a, b).ratio() < ALIKE for a, b in unlike)


def named_values(error: str) -> tuple[str, ...]:
    """What an error text quotes, or lists between commas behind a colon."""
    listed = [item.strip(" '\"`") for m in _LISTED.finditer(error) for item in m[1].split(",")]
    quoted = [m[1].strip() for m in _QUOTED.finditer(error)]
    return tuple(dict.fromkeys(item for item in [*quoted, *listed] if item))


def _all_lower(values: tuple[str, ...]) -> bool:
    return bool(values) and all(value == value.lower() for value in values)
