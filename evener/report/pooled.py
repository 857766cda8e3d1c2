"""Cells and differences of several runs together, from the rewards of each task.

Tasks that several runs share are clustered; elsewhere every pair is on its own.
"""

from collections.abc import Mapping, Sequence

from evener.protocols.interval import Interval, bootstrap, paired, wilson
from evener.protocols.summary import Comparison, PooledCell, PooledComparison
from evener.report.cell import difference
from evener.report.measured import Measured

Cells = Mapping[str, Measured]
"""One run's cells on one split, by name."""


def pooled_cell(found: Sequence[Measured]) -> PooledCell:
    """One cell over the runs that have it."""
    cells = tuple(one.cell for one in found)
    n, solved = sum(c.n for c in cells), sum(c.solved for c in cells)
    rate = _rate(found, solved, n)
    tried = sum(c.n / c.coverage for c in cells if c.coverage)
    return PooledCell(
        name=cells[0].name,
        split=cells[0].split,
        n=n,
        solved=solved,
        rate=rate.value,
        low=rate.low,
        high=rate.high,
        coverage=n / tried if tried else 0.0,
        tool_error_rate=sum(c.tool_error_rate * c.n for c in cells) / n if n else 0.0,
        calls=sum(c.calls for c in cells),
        tokens=sum(c.tokens for c in cells),
        cpu_seconds=round(sum(c.cpu_seconds for c in cells), 1),
        cells=cells,
    )


def pooled_comparison(a: str, b: str, runs: Sequence[Cells]) -> PooledComparison | None:
    """a − b over the runs that have both; None where there is none, or where they are the same
    episodes in all. A run in which they are the same episodes counts with its differences of 0:
    that the search found nothing is a result."""
    both = [run for run in runs if a in run and b in run]
    if all(run[a].episodes == run[b].episodes for run in both):
        return None
    own = tuple(_own(run, a, b) for run in both)
    by_task: dict[str, list[float]] = {}
    for run in both:
        left, right = run[a].rewards, run[b].rewards
        for task in left.keys() & right.keys():
            by_task.setdefault(task, []).append(left[task] - right[task])
    seeds = tuple(run[a].cell.seed for run in both)
    delta = paired([by_task[task] for task in sorted(by_task)], seed=seeds[0])
    return PooledComparison(
        a=a,
        b=b,
        split=own[0].split,
        difference=delta.value,
        low=delta.low,
        high=delta.high,
        n=delta.n,
        runs=own,
        seeds=seeds,
        least=min(one.difference for one in own),
        most=max(one.difference for one in own),
    )


def _own(run: Cells, a: str, b: str) -> Comparison:
    rewards = {name: run[name].rewards for name in (a, b)}
    cell = run[a].cell
    return difference(rewards, a, b, split=cell.split, seed=cell.seed)


def _rate(found: Sequence[Measured], solved: int, n: int) -> Interval:
    """Wilson's where no task repeats, else a bootstrap over tasks."""
    tasks = {task for one in found for task in one.rewards}
    if len(tasks) == n:
        return wilson(solved, n)
    units = [[one.rewards[task] for one in found if task in one.rewards] for task in sorted(tasks)]
    spread = bootstrap(units, _mean, seed=found[0].cell.seed)
    return Interval(solved / n, spread.low, spread.high, n)


def _mean(units: Sequence[Sequence[float]]) -> float:
    return sum(map(sum, units)) / sum(map(len, units))
