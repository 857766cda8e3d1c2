"""What was gained, what was not, and what it cost, in sentences made from the figures.

A difference is a gain or a loss only where its interval is clear of 0; everything else is said not
to be told apart.
"""

from collections.abc import Iterator, Sequence

from evener.protocols.summary import PooledCell, PooledComparison, PooledSummary
from evener.report.against import says
from evener.report.figure import evidence, points, share

THIN = 0.9  # under this coverage a figure is named for it


def gained(pooled: PooledSummary) -> list[str]:
    """Differences on `test` whose interval lies above 0."""
    return [_line(one, "is ahead of", pooled) for one in _test(pooled) if one.low > 0]


def not_gained(pooled: PooledSummary) -> list[str]:
    """Differences on `test` whose interval lies below 0, or holds 0."""
    found = _test(pooled)
    lost = [_line(one, "is behind", pooled) for one in found if one.high < 0]
    return lost + [
        _line(one, "is not told apart from", pooled) for one in found if one.low <= 0 <= one.high
    ]


def cost(pooled: PooledSummary) -> str:
    """CPU-seconds over all seeds, and what they bought."""
    episodes = sum(run.budget.rollouts for run in pooled.runs)
    rows = sum(run.rows.accepted for run in pooled.runs)
    each = ", ".join(
        f"{run.budget.cpu_seconds:.0f} (seed {run.seed}, {run.state})" for run in pooled.runs
    )
    text = f"{pooled.cpu_seconds:.0f} CPU-seconds of the process tree over all sessions"
    text += f": {each}. " if len(pooled.runs) > 1 else ". "
    return f"{text}{episodes} episodes were run, and {rows} training rows were used."


def caveats(pooled: PooledSummary) -> list[str]:
    """What a reader must know before any of the figures."""
    notes = (f"{note.rstrip('.')}." for note in pooled.notes)
    return [*_states(pooled), *notes, *_thin(pooled.cells)]


def intervals(pooled: PooledSummary) -> str:
    """How many intervals there are, and what none of them says."""
    count = len(pooled.comparisons)
    return (
        f"The page has {count} differences with a 95 % interval each, and none is widened for "
        "their number: about one in twenty misses the true value."
    )


def covers(pooled: PooledSummary) -> str:
    """What the intervals are of."""
    if len(pooled.runs) == 1:
        return (
            "The intervals cover how tasks vary. How training and search vary they do not: this is "
            "one seed."
        )
    return (
        "The intervals cover how tasks vary. How training and search vary they cover only as far "
        f"as there are seeds, here {len(pooled.runs)}: their own figures stand beside."
    )


def _test(pooled: PooledSummary) -> list[PooledComparison]:
    return [one for one in pooled.comparisons if one.split == "test" and one.n]


def _line(found: PooledComparison, standing: str, pooled: PooledSummary) -> str:
    what = says(found.a, found.b)
    text = f"`{found.a}` {standing} `{found.b}`" + (f" ({what})" if what else "")
    text += f": {evidence(found)}"
    if len(found.runs) > 1:
        text += f", seeds from {points(found.least)} to {points(found.most)}"
    other = next(
        (
            one
            for one in pooled.comparisons
            if (one.a, one.b, one.split) == (found.a, found.b, "ood") and one.n
        ),
        None,
    )
    return f"{text}." + (f" On ood: {evidence(other)}." if other else "")


def _states(pooled: PooledSummary) -> Iterator[str]:
    for run in pooled.runs:
        if run.state in ("interrupted", "running"):
            yield f"The run with seed {run.seed} is {run.state}: it is reported as far as it came."
        elif run.state == "budget":
            yield f"The run with seed {run.seed} ended at its budget: {run.stop_reason}."


def _thin(cells: Sequence[PooledCell]) -> Iterator[str]:
    for cell in cells:
        if cell.coverage < THIN:
            yield (
                f"Of the episodes of `{cell.name}` on {cell.split} only {share(cell.coverage)} "
                "were scored."
            )
