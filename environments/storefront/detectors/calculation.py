"""Sums in words: which numbers and which operator reach the calculator."""

import re
from fractions import Fraction

from evener.environments.storefront.detectors.question import WORDS, asked, of
from evener.protocols.behaviour import Behaviour
from evener.protocols.conduct import numbers, worked
from evener.protocols.trajectory import Trajectory


def expressions(trajectory: Trajectory) -> tuple[str, ...]:
    """The expressions that the calculator worked out, in order."""
    return tuple(
        str(event.call.arguments.get("expression")) for event in worked(trajectory, "calculator")
    )


def is_of(expression: str, operator: str, operands: tuple[Fraction, ...]) -> bool:
    """Whether an expression applies one operator to these numbers, in order where that matters."""
    found, wanted = numbers(expression), operands
    if operator in "*+":
        found, wanted = tuple(sorted(found)), tuple(sorted(wanted))
    return set(re.findall(r"[-+*/]", expression)) == {operator} and found == wanted


def _operands(trajectory: Trajectory) -> bool:
    wanted = asked(trajectory)
    last = expressions(trajectory)[-1:]
    return any(numbers(expression) == wanted.numbers for expression in last)


def _operator(trajectory: Trajectory) -> bool:
    wanted = asked(trajectory).operator
    last = expressions(trajectory)[-1:]
    return any(set(re.findall(r"[-+*/]", expression)) == {wanted} for expression in last)


CALCULATION: tuple[Behaviour, ...] = (
    Behaviour(
        name="operands_copied",
        part="skills[calc].examples",
        text="the last sum worked out has the question's two numbers, in its order",
        occasion=of("calc"),
        shown=_operands,
        conditional=True,
        settings=WORDS,
    ),
    Behaviour(
        name="operator_named",
        part="skills[calc].examples",
        text="the last sum worked out has the operator that the words name, and no other",
        occasion=of("calc"),
        shown=_operator,
        conditional=True,
        settings=WORDS,
    ),
)
