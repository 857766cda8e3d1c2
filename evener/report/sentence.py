"""The run's result in words. Nothing is claimed that an interval does not show."""

import re
from collections.abc import Iterator, Mapping, Sequence

from evener.protocols.summary import Cell, Comparison, PooledCell, VerdictLine
from evener.protocols.verdict import Ruling
from evener.report.figure import evidence, points

_LATER = re.compile(r"trained_(\d+)\+evolved_(\d+)")
Found = Mapping[tuple[str, str], Comparison]


def sentence(
    cells: Sequence[Cell] | Sequence[PooledCell],
    comparisons: Sequence[Comparison],
    verdicts: Sequence[VerdictLine] = (),
    *,
    drawn: str,
) -> str:
    """The sealed test of the whole against its beginning; whether harness and weights compound,
    where that was measured. A model that the gate did not accept is called so. `drawn` says which
    seeds the figures have."""
    rates = {c.name: c for c in cells if c.split == "test"}
    found: Found = {(c.a, c.b): c for c in comparisons if c.split == "test"}
    best = next((n for n in ("trained+evolved", "base+evolved") if n in rates), None)
    if best is None or "base+seed" not in rates:
        return "The sealed test was not run."
    start, end = rates["base+seed"], rates[best]
    against = found.get((best, "base+seed"))
    if against is None:
        return (
            f"The run ended with what it began with, and that solves {start.rate:.0%} of "
            f"{start.n} sealed tasks ({drawn})."
        )
    if not against.n:
        return "No sealed task was scored for both, so there is nothing to compare."
    if against.low > 0:
        claim = "a gain"
    elif against.high < 0:
        claim = "a loss"
    else:
        claim = "no difference that this many tasks can tell from chance"
    first = (
        f"On {end.n} sealed tasks {best} solves {end.rate:.0%} and base+seed {start.rate:.0%}: "
        f"{claim} ({points(against.difference)} points, 95 % interval "
        f"{points(against.low)} to {points(against.high)}, paired, {drawn})."
    )
    untaken = refused(verdicts) if best.startswith("trained") else ""
    return " ".join(filter(None, (first, untaken, *compounding(tuple(rates), found))))


def said(
    cells: Sequence[Cell] | Sequence[PooledCell],
    comparisons: Sequence[Comparison],
    verdicts: Sequence[VerdictLine] = (),
    *,
    drawn: str,
) -> str:
    """The sentence of a run, whichever of the two it was."""
    if any(cell.name == "base+target" for cell in cells):
        return distilled(cells, comparisons, drawn=drawn)
    return sentence(cells, comparisons, verdicts, drawn=drawn)


def distilled(
    cells: Sequence[Cell] | Sequence[PooledCell],
    comparisons: Sequence[Comparison],
    *,
    drawn: str,
) -> str:
    """Whether the weights alone do what the harness did for the untrained student."""
    rates = {c.name: c for c in cells if c.split == "test"}
    found: Found = {(c.a, c.b): c for c in comparisons if c.split == "test"}
    start, dressed, alone = (
        rates.get(name) for name in ("base+target", "base+optimized", "trained+target")
    )
    if start is None or dressed is None:
        return "The sealed test was not run."
    if alone is None:
        return (
            f"Nothing was distilled: base+target solves {start.rate:.0%} and base+optimized "
            f"{dressed.rate:.0%} of {start.n} sealed tasks ({drawn})."
        )
    against = found.get(("trained+target", "base+optimized"))
    if against is None or not against.n:
        return "No sealed task was scored for both, so there is nothing to compare."
    if against.low > 0:
        claim = "the weights alone are ahead of the harness"
    elif against.high < 0:
        claim = "the weights alone are behind the harness"
    else:
        claim = "the weights alone and the harness are not told apart"
    idle = "" if start.solved < start.n else " The base needs no harness: it solves all of them."
    return (
        f"With the harness off, trained+target solves {alone.rate:.0%} of {alone.n} sealed tasks, "
        f"base+optimized {dressed.rate:.0%}, base+target {start.rate:.0%}: {claim} "
        f"({evidence(against)}, paired, {drawn}).{idle}"
    )


def compounding(names: Sequence[str], found: Found) -> Iterator[str]:
    """Whether a harness evolved on trained weights serves them better, round by round."""
    for name in names:
        match = _LATER.fullmatch(name)
        if not match or int(match[2]) != int(match[1]) + 1:
            continue
        before, after = int(match[1]), int(match[2])
        own, rival = (
            f"trained_{before}+evolved_{before}",
            f"trained_{before}+counterfactual_{after}",
        )
        apart = found.get((name, rival))
        if apart is not None and apart.n:
            yield _coupled(before, apart)
        elif rival in names:
            yield (
                f"The harness evolved on the weights of round {before} is the one evolved on the "
                "weights before them, so that nothing shows that harness and weights compound."
            )
        step = found.get((name, own))
        if step is not None and step.n:
            yield _step(before, after, step, alone=rival not in names)
        elif own in names:
            yield f"The search of round {after} left the harness as it was."


def _coupled(before: int, found: Comparison) -> str:
    whom = (
        f"under the weights of round {before} the harness evolved on them is {{}} one evolved on "
        f"the weights before them ({evidence(found)})."
    )
    if found.low > 0:
        return f"Harness and weights compound: {whom.format('ahead of')}"
    if found.high < 0:
        return f"Harness and weights do not compound here: {whom.format('behind')}"
    return f"That harness and weights compound is not shown: {whom.format('not told apart from')}"


def _step(before: int, after: int, found: Comparison, *, alone: bool) -> str:
    if found.low > 0:
        what = "is ahead of"
    elif found.high < 0:
        what = "is behind"
    else:
        what = "is not told apart from"
    text = (
        f"Under the weights of round {before} the harness of round {after} {what} that of round "
        f"{before} ({evidence(found)})"
    )
    if not alone:
        return f"{text}."
    if found.low > 0:
        return f"{text}; whether it owes that to these weights was not measured."
    return f"{text}: that harness and weights compound is not shown."


def refused(verdicts: Sequence[VerdictLine]) -> str:
    """That the gate did not accept the model that was trained last, or nothing."""
    tried = (v for v in reversed(verdicts) if v.kind == "model" and v.author == "trainer")
    last = next(tried, None)
    if last is None or last.outcome is Ruling.ACCEPT:
        return ""
    return f"The gate did not accept {last.patch} ({last.outcome}): the model before it stays."
