"""The kinds of generated problems, from one line of arithmetic to what a contest asks.

A kind draws its numbers, states the problem, knows the exact answer by a formula, and has a program
that finds the answer by another way.
"""

from collections.abc import Mapping

from evener.environments.math.kinds import algebra, counting, geometry, number
from evener.environments.math.kinds.kind import Kind, Made

USUAL: Mapping[str, Kind] = {
    "arithmetic": number.arithmetic,
    "linear": algebra.linear,
    "divisors": number.divisors,
    "quadratic": algebra.quadratic,
    "remainder": number.remainder,
    "altitude": geometry.altitude,
    "urn": counting.urn,
    "multiples": counting.multiples,
    "congruences": number.congruences,
    "telescope": algebra.telescope,
    "recurrence": algebra.recurrence,
    "paths": counting.paths,
}
"""Easy ones first; every split but `ood` is made of these in turn."""

OOD: Mapping[str, Kind] = {
    "power_sum": algebra.power_sum,
    "necklaces": counting.necklaces,
    "floors": number.floors,
    "inradius": geometry.inradius,
}
"""Of the split `ood` alone."""

__all__ = ["OOD", "USUAL", "Kind", "Made"]
