"""The state of one task's world: a catalogue with its prices, and the number that is right.

A world is a pure function of (part, seed, index), so that nothing hidden needs to be stored.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from evener.environments.storefront.calculator import rounded
from evener.environments.storefront.pool import POOLS, Part, Pool, owner
from evener.environments.storefront.unit import PAIRS, PLURALS, UNITS, convert
from evener.environments.storefront.wording import KINDS, OOD, OPERATORS, USUAL, Form, Kind

VERSION = 2
CATALOGUE = 8

Numbers = TypeVar("Numbers", bound=tuple[int, ...])


@dataclass(frozen=True)
class World:
    """One generated problem. `numbers` are those of the calculation (prices included), `item` and
    `other` what the prompt names, `source` and `target` the units; empty where the kind has none.
    `answer` is rounded to two decimals."""

    kind: Kind
    form: Form
    prompt: str
    numbers: tuple[int, ...]
    item: str
    prices: dict[str, int]
    answer: Fraction
    source: str = ""
    target: str = ""
    other: str = ""


def world(part: Part, seed: int, index: int) -> World:
    """The problem at `index` of a seed. Kinds alternate; operators and units take turns too, so
    that equal counts of each are drawn."""
    draw = random.Random(f"storefront/{VERSION}/{part}/{seed}/{index}")
    kind, turn = KINDS[index % len(KINDS)], index // len(KINDS)
    first = random.Random(f"storefront/{VERSION}/{part}/{seed}").randrange(len(PAIRS))
    pool = POOLS[part]
    sentences = OOD if part == "ood" else USUAL
    name, item = draw.choice(pool.names), draw.choice(pool.items())
    prices = _catalogue(draw, pool, item)
    match kind:
        case "calc":
            form: Form = OPERATORS[(first + turn) % len(OPERATORS)]
            a, b = _pair(draw, part, form)
            noun = item.split()[-1]
            prompt = draw.choice(sentences[form]).format(name=name, a=a, b=b, nouns=f"{noun}s")
            answer = _arithmetic(form, a, b)
            return World(kind, form, prompt, (a, b), noun, prices, answer)
        case "price":
            quantity, prices[item] = _owned(part, lambda: (_int(draw, 11, 198), _int(draw, 12, 98)))
            prompt = draw.choice(sentences[kind]).format(name=name, a=quantity, item=item)
            answer = Fraction(quantity * prices[item])
            return World(kind, kind, prompt, (quantity, prices[item]), item, prices, answer)
        case "convert":
            source, target = PAIRS[(first + turn) % len(PAIRS)]
            (value,) = _owned(part, lambda: (_int(draw, 11, 998),))
            form = UNITS[source][0]
            prompt = draw.choice(sentences[form]).format(
                name=name, a=value, items=f"{item}s", source=PLURALS[source], target=PLURALS[target]
            )
            answer = rounded(convert(Fraction(value), source, target))
            return World(kind, form, prompt, (value,), item, prices, answer, source, target)
        case "bill":
            other = draw.choice([each for each in prices if each != item])
            pair = _owned(part, lambda: (_int(draw, 12, 98), _int(draw, 12, 98)))
            prices[item], prices[other] = pair
            prompt = draw.choice(sentences[kind]).format(name=name, item=item, other=other)
            return World(kind, kind, prompt, pair, item, prices, Fraction(sum(pair)), other=other)


def _catalogue(draw: random.Random, pool: Pool, item: str) -> dict[str, int]:
    others = draw.sample([other for other in pool.items() if other != item], CATALOGUE - 1)
    listed = sorted([item, *others])
    return {each: draw.randint(12, 98) for each in listed}


def _pair(draw: random.Random, part: Part, form: Form) -> tuple[int, int]:
    """Two numbers of two or three digits; a difference is positive, a quotient whole."""
    match form:
        case "/":
            return _owned(part, lambda: _quotient(draw))
        case "-":
            return _owned(part, lambda: (_int(draw, 200, 998), _int(draw, 11, 198)))
        case "+":
            return _owned(part, lambda: (_int(draw, 101, 998), _int(draw, 11, 998)))
        case _:
            return _owned(part, lambda: (_int(draw, 11, 398), _int(draw, 11, 98)))


def _quotient(draw: random.Random) -> tuple[int, int]:
    divisor = _int(draw, 11, 48)
    return divisor * draw.randint(3, 998 // divisor), divisor


def _arithmetic(form: Form, a: int, b: int) -> Fraction:
    results = {"*": a * b, "+": a + b, "-": a - b}
    return Fraction(results[form]) if form in results else rounded(Fraction(a, b))


def _int(draw: random.Random, low: int, high: int) -> int:
    """Uniform, without the multiples of ten that make a sum trivial."""
    number = draw.randint(low, high)
    return number if number % 10 else number + 1


def _owned(part: Part, numbers: Callable[[], Numbers]) -> Numbers:
    """The first draw that belongs to `part`: one in six does."""
    while owner(*(drawn := numbers())) != part:
        pass
    return drawn
