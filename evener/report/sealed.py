"""The sealed test in tables: cells and their differences, of one run or of several pooled."""

from collections.abc import Sequence

from evener.protocols.summary import Cell, Comparison, PooledCell, PooledComparison
from evener.report.figure import fine, share, shares, span
from evener.report.table import Table


def cells(found: Sequence[Cell]) -> Table:
    """One line for each cell of a run."""
    rows = [
        (
            c.name, c.split, f"{c.solved}/{c.n}", share(c.rate), shares(c.low, c.high),
            share(c.coverage), share(c.tool_error_rate), c.calls, c.tokens, c.seed,
        )
        for c in found
    ]  # fmt: skip
    header = (
        "cell", "split", "solved", "rate", "95 %", "coverage", "tool errors", "calls", "tokens",
        "seed",
    )  # fmt: skip
    return Table("", header, rows)


def comparisons(found: Sequence[Comparison]) -> Table:
    """One line for each difference of a run."""
    rows = [
        (f"{c.a} − {c.b}", c.split, fine(c.difference), span(c.low, c.high), c.n) for c in found
    ]
    return Table("", ("difference (paired)", "split", "points", "95 %", "n"), rows)


def pooled_cells(found: Sequence[PooledCell], seeds: Sequence[int]) -> Table:
    """One line for each cell, with the rate of every seed where there are several."""
    columns = seeds if len(seeds) > 1 else ()
    rows = [
        (
            c.name, c.split, *(_rate(c, seed) for seed in columns), f"{c.solved}/{c.n}",
            share(c.rate), shares(c.low, c.high), share(c.coverage), share(c.tool_error_rate),
            c.calls, c.tokens, f"{c.cpu_seconds:.0f}",
        )
        for c in found
    ]  # fmt: skip
    header = (
        "cell", "split", *(f"seed {seed}" for seed in columns), "solved", "rate", "95 %",
        "coverage", "tool errors", "calls", "tokens", "CPU-seconds",
    )  # fmt: skip
    return Table("", header, rows)


def pooled_comparisons(found: Sequence[PooledComparison], seeds: Sequence[int]) -> Table:
    """One line for each difference, with that of every seed where there are several."""
    columns = seeds if len(seeds) > 1 else ()
    rows = [
        (
            f"{c.a} − {c.b}", c.split, *(_difference(c, seed) for seed in columns),
            *([span(c.least, c.most)] if columns else []), fine(c.difference),
            span(c.low, c.high), c.n,
        )
        for c in found
    ]  # fmt: skip
    header = (
        "difference (paired)", "split", *(f"seed {seed}" for seed in columns),
        *(["seeds from … to"] if columns else []), "points", "95 %", "n",
    )  # fmt: skip
    return Table("", header, rows)


def _rate(cell: PooledCell, seed: int) -> str:
    return next((f"{c.rate:.0%} ({c.n})" for c in cell.cells if c.seed == seed), "–")


def _difference(found: PooledComparison, seed: int) -> str:
    own = dict(zip(found.seeds, found.runs, strict=True)).get(seed)
    return "–" if own is None else fine(own.difference)
