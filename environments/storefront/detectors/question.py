"""What a question of the desk asks, read from its words alone, in all of its wordings."""

import re
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from evener.environments.storefront.pool import COLORS
from evener.environments.storefront.unit import PLURALS
from evener.protocols.behaviour import Predicate
from evener.protocols.conduct import numbers
from evener.protocols.digest import JsonObject
from evener.protocols.trajectory import Trajectory

OPERATORS = {"times": "*", "plus": "+", "minus": "-", "divided by": "/"}

_OPERATOR = re.compile(rf"\b({'|'.join(OPERATORS)})\b")
_ITEM = re.compile(rf"\b(?:{'|'.join(COLORS)}) [a-z]+\b")
_UNITS = {plural: unit for unit, plural in PLURALS.items()}
_UNIT = re.compile(rf"(\b[0-9]+ )?\b({'|'.join(_UNITS)})\b")

WORDS: JsonObject = {"operators": {**OPERATORS}, "colors": [*COLORS], "units": {**_UNITS}}
"""The words that questions are read by: they belong to what a detector is."""


class Question(NamedTuple):
    """`kind` as the words have it, "" for none of the desk's. `source` is the unit that stands
    behind the number, `target` the other one."""

    kind: str
    numbers: tuple[Fraction, ...] = ()
    operator: str = ""
    items: tuple[str, ...] = ()
    source: str = ""
    target: str = ""


@cache
def question(prompt: str) -> Question:
    """The parts of a question."""
    found, operator = numbers(prompt), _OPERATOR.search(prompt)
    items, units = tuple(_ITEM.findall(prompt)), _UNIT.findall(prompt)
    behind = [_UNITS[name] for number, name in units if number]
    free = [_UNITS[name] for number, name in units if not number]
    if len(behind) == len(free) == len(found) == 1:
        return Question("convert", found, source=behind[0], target=free[0])
    if operator is not None and len(found) == 2:
        return Question("calc", found, operator=OPERATORS[operator[1]])
    if len(items) == 1 and len(found) == 1:
        return Question("price", found, items=items)
    if len(items) == 2 and not found:
        return Question("bill", items=items)
    return Question("")


def asked(trajectory: Trajectory) -> Question:
    """What the episode's task asks."""
    return question(trajectory.task.prompt)


def of(*kinds: str) -> Predicate:
    """An occasion: the question is of one of these kinds."""
    return lambda trajectory: asked(trajectory).kind in kinds
