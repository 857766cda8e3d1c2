"""Does the paper's order of sources hold: review with K first, and not by success at collection?

A student is ahead or behind only where the paired interval is clear of 0.
"""

import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import groupby
from typing import Any, Literal

from evener.bench.sources.result import Finding, Order, SourceLine
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
    found = spearman(collected, scored)
    if found is None:
        few = f"only {len(both)} of {len(lines)} sources have both figures"
        why = few if len(both) < 2 else f"one figure is the same for all {len(both)} sources"
        second = f"How success at collection ranks the students cannot be said: {why}."
        return Order(
            holds=holds, against=tuple(against), ranked=len(both), sentence=f"{first} {second}"
        )
    correlation, p = found
    same = _listed(names, collected) == _listed(names, scored)
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


def spearman(one: Sequence[float], other: Sequence[float]) -> tuple[float, float] | None:
    """Rank correlation and its exact two-sided permutation p, for a handful of values; None where
    one side is all ties."""
    stats: Any = import_module("scipy.stats")

    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    a, b = stats.rankdata(one), stats.rankdata(other)

    def statistic(order: Any) -> float:
        return abs(float(stats.pearsonr(a, order).statistic))

    # all orders, so exact
    orders = math.factorial(len(other))
    p = stats.permutation_test(
        (b,),
        statistic,
        permutation_type="pairings",
        alternative="greater",
        vectorized=False,
        n_resamples=orders,
    ).pvalue
    return float(stats.spearmanr(one, other).statistic), float(p)


def _first(
    lines: Sequence[SourceLine], against: Sequence[Comparison], labels: Mapping[str, str]
) -> tuple[Literal["yes", "no", "not shown", "not asked"], str]:
    """Whether K is ahead of the students of all other sources."""
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
    compared = {one.b.removesuffix("+target") for one in against}
    without = [line.label for line in lines if line.source not in {K, *compared}]
    lacking = f" No student: {', '.join(without)}." if without else ""
    where = f"by distilled score, review with K is {'; '.join(said)}.{lacking}"
    if found["behind"]:
        return "no", f"The paper's order does not hold here: {where}"
    if found["not told apart"] or without:
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
