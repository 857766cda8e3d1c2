"""Does the paper's order of sources hold: review with K first, and not by success at collection?

A student is ahead or behind only where the paired interval is clear of 0.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby, permutations
from math import sqrt
from typing import Literal

from evener.bench.result import Finding, Order, SourceLine
from evener.protocols.summary import Comparison

K = "review_k"


def order_of(
    lines: Sequence[SourceLine], against: Sequence[Comparison], *, labels: Mapping[str, str]
) -> Order:
    """`against` has K's student minus each other student, by cell name `SOURCE+target`."""
    holds, first = _first(lines, against, labels)
    both = [
        (line.source, line.collected.rate, line.score.rate)
        for line in lines
        if line.collected is not None and line.score is not None
    ]
    names = [labels[name] for name, _, _ in both]
    collected, scored = [rate for _, rate, _ in both], [rate for _, _, rate in both]
    correlation = spearman(collected, scored) if both else None
    if correlation is None:
        second = (
            f"How success at collection ranks the students cannot be said: of {len(both)} with "
            "both figures, one figure is the same for all."
        )
        return Order(
            holds=holds, against=tuple(against), ranked=len(both), sentence=f"{first} {second}"
        )
    same, p = ranks(collected) == ranks(scored), exact(collected, scored)
    second = (
        f"Success at collection orders the sources {'as' if same else 'not as'} the scores do: by "
        f"success {_listed(names, collected)}; by score {_listed(names, scored)}. Rank "
        f"correlation {correlation:+.2f} over {len(both)} sources, exact p {p:.2f}."
    )
    return Order(
        holds=holds,
        against=tuple(against),
        by_collection=_sorted([name for name, _, _ in both], collected),
        by_score=_sorted([name for name, _, _ in both], scored),
        same_order=same,
        correlation=correlation,
        p=p,
        ranked=len(both),
        sentence=f"{first} {second}",
    )


def finding(difference: Comparison) -> Finding:
    """What the interval shows."""
    if difference.low > 0:
        return "ahead"
    return "behind" if difference.high < 0 else "not told apart"


def ranks(values: Sequence[float]) -> list[float]:
    """1 for the smallest; ties share the mean of their ranks."""
    return [
        sum(other < value for other in values) + (1 + sum(other == value for other in values)) / 2
        for value in values
    ]


def spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Rank correlation; None where one side is all ties."""
    a, b = ranks(one), ranks(other)
    middle = (len(a) + 1) / 2
    across = sum((x - middle) * (y - middle) for x, y in zip(a, b, strict=True))
    spread = sum((x - middle) ** 2 for x in a) * sum((y - middle) ** 2 for y in b)
    return across / sqrt(spread) if spread else None


def exact(one: Sequence[float], other: Sequence[float]) -> float:
    """Share of all orders of `other` whose correlation is at least as far from 0; for a handful of
    values."""
    seen = abs(spearman(one, other) or 0.0)
    drawn = [abs(spearman(one, order) or 0.0) for order in permutations(other)]
    return sum(value >= seen - 1e-12 for value in drawn) / len(drawn)


def _first(
    lines: Sequence[SourceLine], against: Sequence[Comparison], labels: Mapping[str, str]
) -> tuple[Literal["yes", "no", "not shown", "not asked"], str]:
    """Whether K is ahead of every other student."""
    if all(line.source != K or line.score is None for line in lines):
        return "not asked", "The paper's order cannot be asked: review with K gave no student."
    if not against:
        return "not asked", "The paper's order cannot be asked: no other source gave a student."
    verbs: dict[Finding, str] = {
        "ahead": "ahead of",
        "behind": "behind",
        "not told apart": "not told apart from",
    }
    found: dict[Finding, list[str]] = {which: [] for which in verbs}
    for one in against:
        found[finding(one)].append(labels[one.b.removesuffix("+target")])
    said = [f"{verb} {', '.join(found[which])}" for which, verb in verbs.items() if found[which]]
    where = f"by distilled score, review with K is {'; '.join(said)}."
    if found["behind"]:
        return "no", f"The paper's order does not hold here: {where}"
    if found["not told apart"]:
        return "not shown", f"The paper's order is not shown here: {where}"
    return "yes", f"The paper's order holds here: {where}"


def _sorted(names: Sequence[str], values: Sequence[float]) -> tuple[str, ...]:
    pairs = sorted(zip(names, values, strict=True), key=lambda pair: -pair[1])
    return tuple(name for name, _ in pairs)


def _listed(names: Sequence[str], values: Sequence[float]) -> str:
    """`a > b = c`."""
    pairs = sorted(zip(names, values, strict=True), key=lambda pair: -pair[1])
    groups = groupby(pairs, key=lambda pair: pair[1])
    return " > ".join(" = ".join(name for name, _ in group) for _, group in groups)
