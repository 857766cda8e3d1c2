"""A reply's reasoning set apart from what it says, wherever the reasoning stands.

A block at the beginning ends at its first closing tag. Elsewhere a tag counts only outside of JSON
objects: a tag inside an argument is part of the argument. A closing tag without an opening one ends
a block that the chat template opened; a block that is not closed goes on to the end.
"""

import re

from evener.agents.harness.decode import Malformed, repaired_at, value_at
from evener.agents.harness.shape import split_reasoning

MOST_OBJECTS = 64

_OPEN, _CLOSE = "<think>", "</think>"
_NEXT = re.compile(r"\{|</?think>")
_TAG = re.compile(r"</?think>")


def set_apart(text: str) -> tuple[str, str]:
    """(visible text, reasoning) of a reply."""
    visible, first = split_reasoning(text)
    if "think>" not in visible:
        return visible, first
    said: list[str] = []
    thought = [first]
    start = at = tried = 0
    opened = False
    while (found := (_NEXT if tried < MOST_OBJECTS else _TAG).search(visible, at)) is not None:
        at = found.end()
        if found.group() == "{":
            tried += 1
            at = at if opened else _behind(visible, found.start())
            continue
        before = visible[start : found.start()]
        if found.group() == _OPEN:
            if opened:
                continue
            said.append(before)
        elif opened:
            thought.append(before)
        else:
            thought += [*said, before]
            said = []
        opened, start = found.group() == _OPEN, at
    (thought if opened else said).append(visible[start:])
    return "".join(said), "\n".join(part for part in thought if part)


def _behind(text: str, start: int) -> int:
    """Behind the object that begins at `start`, or behind its brace where none does."""
    try:
        return value_at(text, start)[1]
    except Malformed:
        pass
    try:
        return repaired_at(text, start)[1]
    except Malformed:
        return start + 1
