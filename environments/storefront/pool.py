"""What each part of the generator draws from: names, items and numbers, disjoint by construction.

A part is a split, or `example` for the documentation. Names and nouns are listed once; a tuple of
numbers belongs to the one part that its hash points to, whatever the order of the numbers.
"""

import hashlib
from dataclasses import dataclass
from typing import Literal, TypeAlias

Part: TypeAlias = Literal["example", "mine", "held_in", "held_out", "test", "ood"]

PARTS: tuple[Part, ...] = ("example", "mine", "held_in", "held_out", "test", "ood")

COLORS = ("red", "blue", "green", "white", "black", "small", "large")


@dataclass(frozen=True)
class Pool:
    """The names and the nouns of one part; an item is a color or size and a noun."""

    names: tuple[str, ...]
    nouns: tuple[str, ...]

    def items(self) -> tuple[str, ...]:
        """Every item that a catalogue of this part may list."""
        return tuple(f"{color} {noun}" for noun in self.nouns for color in COLORS)


def _pool(names: str, nouns: str) -> Pool:
    return Pool(tuple(names.split()), tuple(nouns.split()))


POOLS: dict[Part, Pool] = {
    "example": _pool(
        "Anna Ben Clara David Emma Felix Grace Henry Iris Jack",
        "lamp chair candle basket mirror clock pillow blanket",
    ),
    "mine": _pool(
        "Adam Bella Carl Diana Eric Fiona George Hannah Ivan Julia",
        "kettle spoon plate towel bucket ladder hammer broom",
    ),
    "held_in": _pool(
        "Alice Bruno Cora Daniel Elena Frank Gina Hugo Irene Jonas",
        "bottle carpet drawer helmet jacket marker napkin teapot",
    ),
    "held_out": _pool(
        "Albert Bianca Chris Dora Edgar Flora Gavin Helen Ian Jenny",
        "apron stool curtain folder guitar hanger lantern saddle",
    ),
    "test": _pool(
        "Amy Boris Celia Dennis Ella Fred Greta Harry Ingrid Jacob",
        "album badge cushion drum fountain glove magnet wallet",
    ),
    "ood": _pool(
        "Agnes Bernard Cindy Dylan Esther Floyd Gloria Howard Ida Joel",
        "anchor banner cradle dial envelope funnel goblet hinge",
    ),
}


def owner(*numbers: int) -> Part:
    """The one part whose tasks may show these numbers together."""
    text = ",".join(str(number) for number in sorted(numbers))
    return PARTS[hashlib.sha256(text.encode()).digest()[0] % len(PARTS)]
