"""Exact arithmetic on the text of a worked example: what it comes to, what must have been in it.

Numbers, + - * / and parentheses; nothing is ever evaluated as Python.
"""

import ast
import re
from collections.abc import Callable
from fractions import Fraction

LONGEST = 200
LARGEST = 10**15
DECIMALS = 2  # a value that needs more is not told apart from its neighbours by a rounded result

_ALLOWED = re.compile(r"[0-9.+\-*/() ]+")


def value(text: str) -> Fraction | None:
    """The value of an expression, None where it is none or goes out of bounds."""
    text = text.strip()
    if len(text) > LONGEST or not _ALLOWED.fullmatch(text):
        return None
    try:
        return _value(ast.parse(text, mode="eval").body)
    except (SyntaxError, ZeroDivisionError, ValueError, RecursionError, MemoryError):
        return None


def number(text: str) -> Fraction | None:
    """The number that a text is, None where it is anything else."""
    return Fraction(text.strip()) if re.fullmatch(r"\s*-?\d{1,18}(\.\d{1,6})?\s*", text) else None


def written(found: Fraction) -> str | None:
    """A number as a result shows it, None where `DECIMALS` do not hold it."""
    scaled = found * 10**DECIMALS
    if scaled.denominator != 1:
        return None
    sign, digits = "-" if found < 0 else "", f"{abs(scaled.numerator):0{DECIMALS + 1}d}"
    whole, rest = digits[:-DECIMALS], digits[-DECIMALS:].rstrip("0")
    return f"{sign}{whole}.{rest}" if rest else f"{sign}{whole}"


def solve(of: Callable[[str], Fraction | None], result: Fraction) -> str | None:
    """The one number x for which `of(x)` is exactly `result`, where `of` is a + b·x or a + c/x.

    None where it is neither, or where x is no number that a result shows.
    """
    tried = [of(str(x)) for x in (1, 2, 3, 7)]
    if any(got is None for got in tried):
        return None
    one, two, three, seven = (got for got in tried if got is not None)
    slope = two - one
    if slope and three - two == slope and seven - one == 6 * slope:
        x = 1 + (result - one) / slope
    else:
        c = 2 * (one - two)
        a = one - c
        if not c or three != a + c / 3 or seven != a + c / 7 or result == a:
            return None
        x = c / (result - a)
    text = written(x)
    return text if text is not None and of(text) == result else None


def _value(node: ast.expr) -> Fraction:
    match node:
        case ast.Constant(value=int() | float() as found):
            made = Fraction(repr(found))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            made = -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            made = _value(operand)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            made = _value(left) + _value(right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            made = _value(left) - _value(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            made = _value(left) * _value(right)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            made = _value(left) / _value(right)
        case _:
            raise ValueError("not arithmetic")
    if abs(made) > LARGEST:
        raise ValueError("out of bounds")
    return made
