"""Arithmetic on text that a model wrote: a whitelist over the syntax tree, exact and bounded.

Numbers, + - * / and parentheses; nothing is ever evaluated as Python.
"""

import ast
import re
from fractions import Fraction

LONGEST = 64
LARGEST = 10**12

_ALLOWED = re.compile(r"[0-9.+\-*/() ]+")


class BadExpressionError(ValueError):
    """An expression that is refused; `kind` is the observation's error kind."""

    def __init__(self, message: str, *, kind: str = "bad_expression") -> None:
        self.kind = kind
        super().__init__(message)


def evaluate(expression: str) -> Fraction:
    """The exact value. Raises BadExpressionError for anything else than bounded arithmetic."""
    shown = expression[:LONGEST]
    if len(expression) > LONGEST:
        raise BadExpressionError(f"an expression has at most {LONGEST} characters")
    if not _ALLOWED.fullmatch(expression) or expression != expression.strip():
        raise BadExpressionError(f"bad expression {shown!r}; only numbers and + - * / ( )")
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError:
        raise BadExpressionError(f"bad expression {shown!r}; not complete arithmetic") from None
    return _value(tree.body)


def _value(node: ast.expr) -> Fraction:
    match node:
        case ast.Constant(value=int() | float() as number):
            result = Fraction(repr(number)) if abs(number) <= LARGEST else Fraction(2 * LARGEST)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            result = -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            result = _value(operand)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            result = _value(left) + _value(right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            result = _value(left) - _value(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            result = _value(left) * _value(right)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            divisor = _value(right)
            if divisor == 0:
                raise BadExpressionError("division by zero", kind="division_by_zero")
            result = _value(left) / divisor
        case _:
            raise BadExpressionError("bad expression; only numbers and + - * / ( )")
    if abs(result) > LARGEST:
        raise BadExpressionError(f"the result is over {LARGEST}", kind="too_large")
    return result


def rounded(value: Fraction) -> Fraction:
    """To two decimals, halves away from zero."""
    hundredths = abs(value) * 100 + Fraction(1, 2)
    whole = Fraction(hundredths.numerator // hundredths.denominator, 100)
    return -whole if value < 0 else whole


def formatted(value: Fraction) -> str:
    """As the desk shows it: at most two decimals and no trailing zeros, `44500` or `12.5`."""
    number = rounded(value)
    text = f"{abs(number.numerator * 100 // number.denominator):03d}"
    whole, cents = text[:-2], text[-2:].rstrip("0")
    sign = "-" if number < 0 else ""
    return f"{sign}{whole}.{cents}" if cents else f"{sign}{whole}"
