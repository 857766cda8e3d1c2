"""Triangles, with exact answers."""

import random
from fractions import Fraction

from evener.environments.math.kinds.kind import Made, radical


def altitude(draw: random.Random) -> Made:
    """The altitude to the hypotenuse."""
    a, b = sorted(draw.sample(range(2, 120), 2))
    n = a * a + b * b
    program = (
        f"from sympy import sqrt, simplify\nprint(simplify({a} * {b} / sqrt({a}**2 + {b}**2)))"
    )
    return Made(
        (a, b),
        f"The legs of a right triangle have lengths ${a}$ and ${b}$. Find the length of the "
        "altitude to the hypotenuse. Give an exact answer.",
        radical(Fraction(a * b, n), n),
        program,
    )


def inradius(draw: random.Random) -> Made:
    """The radius of the inscribed circle, by Heron's formula."""
    while True:
        a, b, c = sorted(draw.randint(5, 40) for _ in range(3))
        if a + b > c:
            break
    # with s the half perimeter, r² = (s−a)(s−b)(s−c) / s
    x, y, z, s = b + c - a, a + c - b, a + b - c, a + b + c
    program = (
        f"from sympy import Rational, sqrt\na, b, c = {a}, {b}, {c}\ns = Rational(a + b + c, 2)\n"
        "print(sqrt(s * (s - a) * (s - b) * (s - c)) / s)"
    )
    return Made(
        (a, b, c),
        f"A triangle has sides of length ${a}$, ${b}$ and ${c}$. Find the radius of its inscribed "
        "circle. Give an exact answer.",
        radical(Fraction(1, 2 * s), x * y * z * s),
        program,
    )
