"""Field paths into a harness document, `skills[price].examples[+]` for example.

A dot goes into a mapping, brackets into a list: by the item's `name`, by its index where items
have no name, or `+` for a new item at the end. Reading a path that is not there gives `ABSENT`.
"""

import re
from enum import Enum
from typing import TypeAlias

from pydantic import JsonValue

from evener.protocols.error import HarnessError


class Absent(Enum):
    """No value at all, which is not null."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent.ABSENT
Value: TypeAlias = JsonValue | Absent

_STEP = re.compile(r"\.?([A-Za-z_][A-Za-z0-9_ -]*)|\[([^\[\]]+)\]")


class Key(str):
    """A step into a mapping."""


class Item(str):
    """A step into a list: a name, an index, or `+`."""


def parse(path: str) -> tuple[Key | Item, ...]:
    """The steps of a path. Raises HarnessError where it is malformed."""
    steps: list[Key | Item] = []
    at = 0
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None or (at == 0) != (found.group(0)[0] not in ".["):
            raise HarnessError(f"not a field path at character {at}", where=path)
        steps.append(Key(found.group(1)) if found.group(1) else Item(found.group(2)))
        at = found.end()
    if not steps:
        raise HarnessError("an empty field path", where=path)
    return tuple(steps)


def position(items: list[JsonValue], step: Item) -> int | None:
    """The index of a list item by name or index; None where there is none, or for `+`."""
    if step == "+":
        return None
    for index, item in enumerate(items):
        if isinstance(item, dict) and item.get("name") == str(step):
            return index
    named = any(isinstance(item, dict) and "name" in item for item in items)
    at = index_of(step)
    return at if not named and at is not None and at < len(items) else None


def index_of(step: Item) -> int | None:
    """The number that a step writes; None for a name, and for `01`: each place has one path."""
    return int(step) if step.isascii() and step.isdigit() and str(int(step)) == step else None


def read(document: JsonValue, path: str) -> Value:
    """The value at `path`, or ABSENT."""
    here = document
    for step in parse(path):
        if isinstance(step, Key) and isinstance(here, dict) and str(step) in here:
            here = here[str(step)]
        elif isinstance(step, Item) and isinstance(here, list):
            index = position(here, step)
            if index is None:
                return ABSENT
            here = here[index]
        else:
            return ABSENT
    return here


def overlap(left: str, right: str) -> bool:
    """Whether one path lies on or inside the other. Two `[+]` of one list do not overlap."""
    a, b = parse(left), parse(right)
    shorter = min(len(a), len(b))
    if a[:shorter] != b[:shorter]:
        return False
    return not (a == b and a[-1] == "+" and isinstance(a[-1], Item))
