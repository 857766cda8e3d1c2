"""Counting and chance."""

import random
from fractions import Fraction
from math import comb, gcd, lcm

from evener.environments.math.kinds.kind import Made, fraction


def urn(draw: random.Random) -> Made:
    """Balls drawn without putting them back."""
    red, blue, drawn = draw.randint(3, 16), draw.randint(3, 16), draw.randint(3, 5)
    wanted = draw.randint(max(1, drawn - blue), min(red, drawn))
    chance = Fraction(comb(red, wanted) * comb(blue, drawn - wanted), comb(red + blue, drawn))
    program = (
        "from fractions import Fraction\nfrom itertools import combinations\n"
        f"draws = list(combinations([1] * {red} + [0] * {blue}, {drawn}))\n"
        f"print(Fraction(sum(sum(d) == {wanted} for d in draws), len(draws)))"
    )
    return Made(
        (red, blue, drawn, wanted),
        f"An urn holds ${red}$ red and ${blue}$ blue balls. ${drawn}$ balls are drawn at random "
        f"without replacement. What is the probability that exactly ${wanted}$ of them "
        f"{'is' if wanted == 1 else 'are'} red? Give an exact answer.",
        fraction(chance),
        program,
    )


def multiples(draw: random.Random) -> Made:
    """Numbers up to a bound, by what divides them."""
    n, (a, b, c) = draw.randint(500, 5000), draw.sample(range(3, 16), 3)

    def count(*divisors: int) -> int:
        return n // lcm(*divisors)

    either = count(a) + count(b) - count(a, b)
    also = count(a, c) + count(b, c) - count(a, b, c)
    program = (
        f"print(sum((k % {a} == 0 or k % {b} == 0) and k % {c} != 0 for k in range(1, {n + 1})))"
    )
    return Made(
        (n, a, b, c),
        f"How many integers from $1$ to ${n}$ are divisible by ${a}$ or by ${b}$ (or both), but "
        f"not by ${c}$?",
        str(either - also),
        program,
    )


def paths(draw: random.Random) -> Made:
    """Lattice paths that miss two points."""
    width, height = draw.randint(8, 13), draw.randint(8, 13)
    x1, y1 = draw.randint(1, 4), draw.randint(1, 4)
    x2, y2 = draw.randint(x1, 7), draw.randint(y1 + 1, 7)
    first = _ways(x1, y1) * _ways(width - x1, height - y1)
    second = _ways(x2, y2) * _ways(width - x2, height - y2)
    both = _ways(x1, y1) * _ways(x2 - x1, y2 - y1) * _ways(width - x2, height - y2)
    program = (
        f"w = {{}}\nfor x in range({width + 1}):\n    for y in range({height + 1}):\n"
        f"        if (x, y) in (({x1}, {y1}), ({x2}, {y2})):\n            w[x, y] = 0\n"
        "        elif (x, y) == (0, 0):\n            w[x, y] = 1\n"
        "        else:\n            w[x, y] = w.get((x - 1, y), 0) + w.get((x, y - 1), 0)\n"
        f"print(w[{width}, {height}])"
    )
    return Made(
        (width, height, x1, y1, x2, y2),
        f"A path goes from $(0,0)$ to $({width},{height})$ by steps of $1$ to the right or $1$ up. "
        f"How many such paths pass through neither $({x1},{y1})$ nor $({x2},{y2})$?",
        str(_ways(width, height) - first - second + both),
        program,
    )


def necklaces(draw: random.Random) -> Made:
    """Colourings of a ring that a rotation makes no different (Burnside's lemma)."""
    beads, colors = draw.randint(5, 120), draw.randint(2, 24)
    total = sum(colors ** gcd(k, beads) for k in range(beads)) // beads
    program = (
        f"n, c = {beads}, {colors}\ndivisors = [d for d in range(1, n + 1) if n % d == 0]\n"
        "whole = {}\nfor d in divisors:\n"
        "    whole[d] = c**d - sum(whole[e] for e in divisors if e < d and d % e == 0)\n"
        "print(sum(whole[d] // d for d in divisors) % 1000)"
    )
    return Made(
        (beads, colors),
        f"A ring of ${beads}$ beads is colored with ${colors}$ colors, each bead with one of them; "
        "rings that differ by a rotation alone are the same. Find the remainder when the number of "
        "different rings is divided by $1000$.",
        str(total % 1000),
        program,
    )


def _ways(right: int, up: int) -> int:
    return comb(right + up, up) if right >= 0 and up >= 0 else 0
