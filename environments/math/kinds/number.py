"""Whole numbers: sums, remainders, divisors, congruences."""

import random
from math import gcd, prod

from evener.environments.math.kinds.kind import Made

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23)


def arithmetic(draw: random.Random) -> Made:
    """One line of arithmetic."""
    a, b, c = draw.randint(12, 99), draw.randint(12, 99), draw.randint(101, 999)
    return Made(
        (a, b, c),
        f"What is ${a} \\cdot {b} + {c}$?",
        str(a * b + c),
        f"print({a} * {b} + {c})",
    )


def divisors(draw: random.Random) -> Made:
    """How many divisors a number has."""
    primes = draw.sample(_PRIMES, 3)
    powers = [draw.randint(1, 4), draw.randint(1, 3), draw.randint(1, 2)]
    n = prod(p**e for p, e in zip(primes, powers, strict=True))
    return Made(
        (n,),
        f"How many positive divisors does ${n}$ have?",
        str(prod(e + 1 for e in powers)),
        f"n = {n}\nprint(sum(2 - (d * d == n) for d in range(1, int(n**0.5) + 1) if n % d == 0))",
    )


def remainder(draw: random.Random) -> Made:
    """The remainder of a large power."""
    base, power, modulus = draw.randint(3, 97), draw.randint(120, 990), draw.randint(101, 999)
    return Made(
        (base, power, modulus),
        f"Find the remainder when ${base}^{{{power}}}$ is divided by ${modulus}$.",
        str(pow(base, power, modulus)),
        f"print({base}**{power} % {modulus})",
    )


def congruences(draw: random.Random) -> Made:
    """The least number with three given remainders."""
    while True:
        a, b, c = (draw.randint(5, 29) for _ in range(3))
        if gcd(a, b) == gcd(a, c) == gcd(b, c) == 1:
            break
    moduli = (a, b, c)
    rests = tuple(draw.randint(1, m - 1) for m in moduli)
    whole = prod(moduli)
    least = sum(
        r * (whole // m) * pow(whole // m, -1, m) for r, m in zip(rests, moduli, strict=True)
    )
    answer = least % whole
    said = ", ".join(
        f"${r}$ when divided by ${m}$" for r, m in zip(rests[:2], moduli[:2], strict=True)
    )
    return Made(
        (*moduli, *rests),
        f"Find the least positive integer that leaves a remainder of {said}, and ${rests[2]}$ when "
        f"divided by ${c}$.",
        str(answer),
        f"n = 1\nwhile (n % {a}, n % {b}, n % {c}) != {rests}:\n    n += 1\nprint(n)",
    )


def floors(draw: random.Random) -> Made:
    """A long sum of whole parts."""
    a, b, n = draw.randint(5, 60), draw.randint(61, 97), draw.randint(300, 2000)
    return Made(
        (a, b, n),
        f"Find the remainder when $\\sum_{{k=1}}^{{{n}}} \\left\\lfloor \\frac{{{a}k}}{{{b}}} "
        f"\\right\\rfloor$ is divided by $1000$.",
        str(_floor_sum(n + 1, b, a, 0) % 1000),
        f"print(sum({a} * k // {b} for k in range(1, {n + 1})) % 1000)",
    )


def _floor_sum(n: int, m: int, a: int, b: int) -> int:
    """Σ ⌊(a k + b) / m⌋ for k from 0 to n − 1, by the steps of Euclid's algorithm."""
    total = 0
    while True:
        total += (n - 1) * n // 2 * (a // m) + n * (b // m)
        a, b = a % m, b % m
        top = a * n + b
        if top < m:
            return total
        n, b, m, a = top // m, top % m, a, m
