"""What a kind of problem is, and how exact numbers are written."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias


@dataclass(frozen=True)
class Made:
    """A problem: its `numbers` (equal numbers are the same problem), text and exact answer, and a
    `program` that prints the answer, found by another way than the formula."""

    numbers: tuple[int, ...]
    prompt: str
    answer: str
    program: str


Kind: TypeAlias = Callable[[random.Random], Made]


def fraction(value: Fraction) -> str:
    """A number as it is written in an answer."""
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    return f"{sign}\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def square_part(n: int) -> tuple[int, int]:
    """(a, b) with n = a² b and b free of squares; n is positive."""
    a, b, factor = 1, n, 2
    while factor * factor <= b:
        while b % (factor * factor) == 0:
            b //= factor * factor
            a *= factor
        factor += 1
    return a, b


def radical(coefficient: Fraction, n: int) -> str:
    """`coefficient` · √n in lowest terms, as it is written in an answer; both are positive."""
    a, b = square_part(n)
    value = coefficient * a
    if b == 1:
        return fraction(value)
    above = f"{'' if value.numerator == 1 else value.numerator}\\sqrt{{{b}}}"
    return above if value.denominator == 1 else f"\\frac{{{above}}}{{{value.denominator}}}"
