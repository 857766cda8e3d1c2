"""How large the numbers of a parsed expression would become, estimated without evaluating it.

An estimate is the decimal logarithm of the largest value that a part may take. Runs in a worker.
"""

import math
from importlib import import_module
from typing import Any

MOST_DIGITS = 20_000.0
MOST_TERMS = 100_000
MOST_NODES = 20_000


class Unwieldy(Exception):
    """Not to be evaluated; the text says in a word why."""


def check_size(tree: Any) -> None:
    """Raises Unwieldy(`too_large`) where evaluating would make a number of more than
    `MOST_DIGITS` digits, add or multiply more than `MOST_TERMS` terms, or walk too many nodes."""
    sympy = import_module("sympy")
    for nodes, part in enumerate(sympy.preorder_traversal(tree)):
        if nodes > MOST_NODES or _digits(part, sympy) > MOST_DIGITS:
            raise Unwieldy("too_large")


def _digits(part: Any, sympy: Any) -> float:
    """Decimal digits of a power, factorial, binomial or long sum of numbers; 0 for all else."""
    if isinstance(part, sympy.Integer):
        return float(part.p.bit_length()) * 0.302
    if isinstance(part, (sympy.Sum, sympy.Product)):
        return _terms(part)
    if isinstance(part, sympy.Pow):
        base = _magnitude(part.base, sympy)
        if isinstance(part.exp, sympy.Rational):
            return base * abs(float(part.exp.p)) / float(part.exp.q)
        return base * _power_of_ten(_magnitude(part.exp, sympy))
    if isinstance(part, (sympy.factorial, sympy.factorial2, sympy.gamma, sympy.binomial)):
        n = _power_of_ten(_magnitude(part.args[0], sympy))
        return n * max(1.0, math.log10(n + 1)) if math.isfinite(n) else n
    return 0.0


def _magnitude(part: Any, sympy: Any) -> float:
    """An upper estimate of log10(1 + |part|); 0.5 for a symbol, of which nothing is known."""
    if isinstance(part, sympy.Integer):
        return float(abs(part.p).bit_length()) * 0.302
    if isinstance(part, sympy.Rational):
        return max(0.0, float(int(abs(part.p)).bit_length() - int(part.q).bit_length() + 1) * 0.302)
    if isinstance(part, sympy.Float):
        return math.log10(1 + abs(float(part)))
    if isinstance(part, (sympy.Add, sympy.Max, sympy.Min)):
        inner = [_magnitude(arg, sympy) for arg in part.args]
        return max(inner) + math.log10(len(inner))
    if isinstance(part, sympy.Mul):
        return sum(_magnitude(arg, sympy) for arg in part.args)
    if isinstance(part, sympy.Pow) or (
        part.args
        and isinstance(part, (sympy.factorial, sympy.factorial2, sympy.gamma, sympy.binomial))
    ):
        return _digits(part, sympy) or 0.5
    return max((_magnitude(arg, sympy) for arg in part.args), default=0.5) if part.args else 0.5


def _terms(part: Any) -> float:
    """`MOST_DIGITS` and more for a sum over too many terms, else 0."""
    count = 1.0
    for limit in part.limits:
        if len(limit) < 3 or not (limit[1].is_Integer and limit[2].is_Integer):
            bound = limit[-1]
            # a bound that is a number not yet worked out, such as 10^9
            count *= _power_of_ten(_magnitude(bound, import_module("sympy")))
            continue
        count *= abs(int(limit[2]) - int(limit[1])) + 1
    return math.inf if count > MOST_TERMS else 0.0


def _power_of_ten(exponent: float) -> float:
    return 10.0**exponent if exponent < 300 else math.inf
