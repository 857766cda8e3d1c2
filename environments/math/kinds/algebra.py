"""Equations, sums and sequences."""

import random
from fractions import Fraction

from evener.environments.math.kinds.kind import Made, fraction, square_part


def linear(draw: random.Random) -> Made:
    """An equation of the first degree, whose solution is often a fraction."""
    a, c = draw.sample(range(2, 20), 2)
    b, d = draw.randint(2, 60), draw.randint(61, 130)
    program = (
        f"from fractions import Fraction\nx = Fraction({d} - {b}, {a} - {c})\n"
        f"assert {a} * x + {b} == {c} * x + {d}\nprint(x)"
    )
    return Made(
        (a, b, c, d),
        f"Solve ${a}x + {b} = {c}x + {d}$ for $x$. Give an exact answer.",
        fraction(Fraction(d - b, a - c)),
        program,
    )


def quadratic(draw: random.Random) -> Made:
    """Both roots of an equation, irrational and exact."""
    while True:
        p, under = draw.randint(1, 40), draw.randint(2, 400)
        q = p * p - under
        if square_part(under)[1] > 1 and q != 0:
            break
    outside, inside = square_part(under)
    root = f"{'' if outside == 1 else outside}\\sqrt{{{inside}}}"
    shown = f"+ {q}" if q > 0 else f"- {-q}"
    program = (
        f"from sympy import Symbol, solve\nx = Symbol('x')\n"
        f"print(solve(x**2 - {2 * p} * x + {q}, x))"
    )
    return Made(
        (p, under),
        f"Find all real $x$ with $x^2 - {2 * p}x {shown} = 0$. Give exact answers, separated by a "
        "comma.",
        f"{p}+{root}, {p}-{root}",
        program,
    )


def telescope(draw: random.Random) -> Made:
    """A sum that telescopes; the answer is numerator plus denominator."""
    first, count, step = draw.randint(1, 9), draw.randint(20, 90), draw.randint(2, 4)
    last = first + (count - 1) * step
    total = Fraction(1, step) * (Fraction(1, first) - Fraction(1, last + step))
    program = (
        "from fractions import Fraction\n"
        f"s = sum(Fraction(1, k * (k + {step})) for k in range({first}, {last + 1}, {step}))\n"
        "print(s.numerator + s.denominator)"
    )
    second = first + step
    return Made(
        (first, last, step),
        f"The sum $\\frac{{1}}{{{first} \\cdot {second}}} + \\frac{{1}}{{{second} \\cdot "
        f"{second + step}}} + \\cdots + \\frac{{1}}{{{last} \\cdot {last + step}}}$, whose "
        f"denominators step by ${step}$, equals $\\frac{{m}}{{n}}$ in lowest terms. Find $m + n$.",
        str(total.numerator + total.denominator),
        program,
    )


def recurrence(draw: random.Random) -> Made:
    """A far term of a linear recurrence."""
    first, second = draw.randint(1, 9), draw.randint(1, 9)
    p, q, n = draw.randint(1, 6), draw.randint(1, 6), draw.randint(40, 400)
    program = (
        f"a, b = {first}, {second}\nfor _ in range({n} - 1):\n"
        f"    a, b = b, ({p} * b + {q} * a) % 1000\nprint(a % 1000)"
    )
    return Made(
        (first, second, p, q, n),
        f"Let $a_1 = {first}$, $a_2 = {second}$ and $a_{{k+2}} = {_times(p)}a_{{k+1}} + "
        f"{_times(q)}a_k$ for $k \\ge 1$. Find the remainder when $a_{{{n}}}$ is divided by "
        "$1000$.",
        str(_term(first, second, p, q, n) % 1000),
        program,
    )


def power_sum(draw: random.Random) -> Made:
    """A power sum of the roots of a quadratic."""
    p, q, n = draw.randint(2, 12), draw.randint(-12, -1), draw.randint(12, 60)
    program = (
        f"a, b = 2, {p}\nfor _ in range({n} - 1):\n    a, b = b, {p} * b + {-q} * a\n"
        "print(b % 1000)"
    )
    return Made(
        (p, q, n),
        f"Let $r$ and $s$ be the roots of $x^2 - {p}x - {-q} = 0$. Find the remainder when "
        f"$r^{{{n}}} + s^{{{n}}}$ is divided by $1000$.",
        str(_term(2, p, p, -q, n + 1) % 1000),
        program,
    )


def _times(factor: int) -> str:
    return "" if factor == 1 else str(factor)


def _term(first: int, second: int, p: int, q: int, n: int) -> int:
    """The n-th term modulo 1000, by a power of the recurrence's matrix."""
    c, d = _power(((p, q), (1, 0)), n - 1)[1]
    return (c * second + d * first) % 1000


_Matrix = tuple[tuple[int, int], tuple[int, int]]


def _power(matrix: _Matrix, n: int) -> _Matrix:
    result: _Matrix = ((1, 0), (0, 1))
    while n:
        if n % 2:
            result = _product(result, matrix)
        matrix, n = _product(matrix, matrix), n // 2
    return result


def _product(x: _Matrix, y: _Matrix) -> _Matrix:
    (a, b), (c, d) = x
    (e, f), (g, h) = y
    return (
        ((a * e + b * g) % 1000, (a * f + b * h) % 1000),
        ((c * e + d * g) % 1000, (c * f + d * h) % 1000),
    )
