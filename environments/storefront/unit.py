"""Units and exact conversion factors (international yard and pound, US liquid measures)."""

from fractions import Fraction
from typing import Literal, TypeAlias

Dimension: TypeAlias = Literal["weight", "length", "volume"]

# Each unit in the base unit of its dimension: gram, meter, liter.
UNITS: dict[str, tuple[Dimension, Fraction]] = {
    "ounce": ("weight", Fraction("28.349523125")),
    "pound": ("weight", Fraction("453.59237")),
    "gram": ("weight", Fraction(1)),
    "kilogram": ("weight", Fraction(1000)),
    "inch": ("length", Fraction("0.0254")),
    "foot": ("length", Fraction("0.3048")),
    "yard": ("length", Fraction("0.9144")),
    "mile": ("length", Fraction("1609.344")),
    "centimeter": ("length", Fraction("0.01")),
    "meter": ("length", Fraction(1)),
    "kilometer": ("length", Fraction(1000)),
    "pint": ("volume", Fraction("0.473176473")),
    "gallon": ("volume", Fraction("3.785411784")),
    "liter": ("volume", Fraction(1)),
}

PLURALS: dict[str, str] = {
    unit: {"inch": "inches", "foot": "feet"}.get(unit, f"{unit}s") for unit in UNITS
}

# The pairs that tasks ask for, first to second.
PAIRS: tuple[tuple[str, str], ...] = (
    ("pound", "kilogram"),
    ("inch", "centimeter"),
    ("gallon", "liter"),
    ("mile", "kilometer"),
    ("ounce", "gram"),
    ("foot", "meter"),
    ("kilogram", "pound"),
    ("yard", "meter"),
    ("pint", "liter"),
    ("kilometer", "mile"),
    ("centimeter", "inch"),
    ("meter", "foot"),
)


def convert(value: Fraction, source: str, target: str) -> Fraction:
    """`value` of `source` in `target`, exact. Both are keys of `UNITS` of one dimension."""
    return value * UNITS[source][1] / UNITS[target][1]
