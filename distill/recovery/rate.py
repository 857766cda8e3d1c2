"""How much of what an optimized harness h* did for a student the weights do without it.

A pattern's support is chosen in replicate A and measured in replicate B, on fresh seeds: where a
task was picked because base + h failed to show the pattern once, base + h shows it now and then all
the same. The paper's figure (Harness-Zero, arXiv 2609.24974) credits the training with these, the
corrected one does not. Bounds come from resampling tasks, which carries that the patterns of one
task hang together; they say nothing about other patterns than these.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from math import isnan, nan
from typing import TypeAlias

from evener.distill.recovery.sighted import Sighted
from evener.distill.recovery.support import LEAST, stand_ins, support, why_few
from evener.protocols.interval import Interval, bootstrap, wilson
from evener.protocols.summary import MeanFigure, Recovery, RecoveryMeans

COVERAGE = 0.9

# A task's episodes of replicate B: for each arm how many show the pattern, offer the occasion, are.
Unit: TypeAlias = tuple[int, ...]
BASE, OPTIMIZED, DISTILLED, CONTROL = 0, 3, 6, 9
WIDTH = 12
EMPTY: Unit = (0,) * WIDTH


def recovery(
    seen: Sequence[Sighted], *, seed: int, detectors: str = ""
) -> tuple[tuple[Recovery, ...], RecoveryMeans]:
    """A line for every pattern, in order, and the means over those that count. `detectors` is the
    digest that was frozen before training, for the record.

    Raises ValueError for two patterns of one name, or a task twice in replicate A.
    """
    supports = {one.pattern: support(one.chosen_base, one.chosen_optimized) for one in seen}
    if len(supports) != len(seen):
        raise ValueError("two patterns have one name")
    enough = {name: tasks for name, tasks in supports.items() if len(tasks) >= LEAST}
    groups = stand_ins(enough)
    lines: list[Recovery] = []
    counted: list[tuple[Recovery, dict[str, Unit]]] = []
    for one in seen:
        tasks = supports[one.pattern]
        head = Recovery(
            pattern=one.pattern,
            part=one.part,
            conditional=one.conditional,
            support=len(tasks),
            group=groups.get(one.pattern, ""),
        )
        if one.pattern not in enough:
            why = why_few(one.chosen_base, one.chosen_optimized, tasks)
            lines.append(head.model_copy(update={"note": why}))
            continue
        units = _units(one, tasks)
        lines.append(_line(head, units, controlled=one.control is not None, seed=seed))
        if groups[one.pattern] == one.pattern:
            counted.append((lines[-1], units))
    return tuple(lines), _means(counted, seed=seed).model_copy(update={"detectors": detectors})


def points(seen: Sighted) -> tuple[float, float]:
    """The paper's figure and the corrected one on a pattern's support, of any size and without
    bounds; not a number where there is none."""
    units = _units(seen, support(seen.chosen_base, seen.chosen_optimized))
    whole = _run_in(units, BASE, OPTIMIZED, DISTILLED)
    return _shown(_sums(units.values()), DISTILLED), _ratio(_sums(whole.values()), DISTILLED)


def _line(head: Recovery, units: dict[str, Unit], *, controlled: bool, seed: int) -> Recovery:
    """The figures of one pattern with enough support."""
    whole = list(_run_in(units, BASE, OPTIMIZED, DISTILLED).values())
    notes: list[str] = []
    coverage = len(whole) / head.support
    if coverage < COVERAGE:
        notes.append(f"{len(whole)} of {head.support} tasks were run in all arms")
    paper = _share(list(units.values()), seed=seed)
    corrected, why = _corrected(whole, seed=seed)
    sums = _sums(whole)
    return head.model_copy(
        update={
            "base": _none(_rate(sums, BASE)),
            "with_harness": _none(_rate(sums, OPTIMIZED)),
            "distilled": _none(_rate(sums, DISTILLED)),
            "control": _none(_rate(_sums(units.values()), CONTROL)) if controlled else None,
            "paper": paper.value if paper else None,
            "paper_low": paper.low if paper else None,
            "paper_high": paper.high if paper else None,
            "recovered": corrected.value if corrected else None,
            "low": corrected.low if corrected else None,
            "high": corrected.high if corrected else None,
            "coverage": coverage,
            "note": "; ".join([*notes, *([why] if why else [])]),
        }
    )


def _share(units: Sequence[Unit], *, seed: int) -> Interval | None:
    """Of the support, the share where the distilled student shows the pattern, occasion or not:
    Wilson's interval where each task was run once, else over tasks."""
    found = [unit for unit in units if unit[DISTILLED + 2]]
    shown, _, episodes = _sums(found)[DISTILLED : DISTILLED + 3]
    if not found:
        return None
    if episodes == len(found):
        return wilson(shown, episodes)
    return bootstrap(found, lambda drawn: _shown(_sums(drawn), DISTILLED), seed=seed)


def _corrected(units: Sequence[Unit], *, seed: int) -> tuple[Interval | None, str]:
    """The corrected figure, or why there is none. What h* itself does on the support must be clear
    of nothing in replicate B: a ratio over what may be zero has no bounds (Fieller 1954)."""
    sums = _sums(units)
    base, dressed, distilled = (_rate(sums, arm) for arm in (BASE, OPTIMIZED, DISTILLED))
    for rate, arm in ((base, "base + h"), (dressed, "base + h*"), (distilled, "distilled + h")):
        if isnan(rate):
            return None, f"{arm} never has the occasion in replicate B"
    gain = bootstrap(units, lambda drawn: _gain(_sums(drawn)), seed=seed)
    if gain.low <= 0:
        return None, f"h* does nothing clear of 0 in replicate B: {base:.2f} to {dressed:.2f}"
    found = bootstrap(units, lambda drawn: _ratio(_sums(drawn), DISTILLED), seed=seed)
    return _widened(found, base, dressed, distilled, units), ""


def _widened(
    found: Interval, base: float, dressed: float, distilled: float, units: Sequence[Unit]
) -> Interval:
    """Never narrower than Wilson's bounds of the distilled rate put through the same formula: tasks
    that are all alike give every resample the same value, and are still a sample."""
    n = sum(unit[DISTILLED + 1] > 0 for unit in units)
    rate = wilson(round(distilled * n), n)
    low, high = ((bound - base) / (dressed - base) for bound in (rate.low, rate.high))
    return found._replace(low=min(found.low, low), high=max(found.high, high))


def _means(counted: Sequence[tuple[Recovery, dict[str, Unit]]], *, seed: int) -> RecoveryMeans:
    """Means over patterns, bounds over tasks. A figure that a pattern lacks leaves it out of that
    mean, which says how many it is of."""
    tasks = sorted({task for _, units in counted for task in units})
    if not counted:
        note = f"no pattern has a support of {LEAST} tasks: there is nothing to recover"
        return RecoveryMeans(seed=seed, note=note)
    all_units = [units for _, units in counted]
    clear = [units for line, units in counted if line.recovered is not None]
    controlled = any(u[CONTROL + 2] for units in all_units for u in units.values())

    def mean(patterns: Sequence[dict[str, Unit]], statistic: Callable[[Unit], float]) -> MeanFigure:
        return _mean(patterns, statistic, tasks, seed=seed)

    none = MeanFigure()
    return RecoveryMeans(
        paper=mean(all_units, lambda sums: _shown(sums, DISTILLED)),
        recovered=mean(
            [_run_in(u, BASE, OPTIMIZED, DISTILLED) for u in clear],
            lambda sums: _ratio(sums, DISTILLED),
        ),
        control_paper=mean(all_units, lambda s: _shown(s, CONTROL)) if controlled else none,
        control_recovered=mean(
            [_run_in(u, BASE, OPTIMIZED, CONTROL) for u in clear], lambda s: _ratio(s, CONTROL)
        )
        if controlled
        else none,
        conditional=sum(line.conditional for line, _ in counted),
        tasks=len(tasks),
        seed=seed,
    )


def _mean(
    patterns: Sequence[dict[str, Unit]],
    statistic: Callable[[Unit], float],
    tasks: Sequence[str],
    *,
    seed: int,
) -> MeanFigure:
    """The mean of a statistic over patterns; in a resample of tasks, over those that have it."""
    rows = [tuple(chain(*(units.get(t, EMPTY) for units in patterns))) for t in tasks]

    def values(drawn: Sequence[Unit]) -> list[float]:
        sums = tuple(map(sum, zip(*drawn, strict=True)))
        each = [statistic(sums[at : at + WIDTH]) for at in range(0, len(sums), WIDTH)]
        return [value for value in each if not isnan(value)]

    def mean(drawn: Sequence[Unit]) -> float:
        found = values(drawn)
        return sum(found) / len(found) if found else nan

    if not values(rows):
        return MeanFigure()
    value, low, high, n = bootstrap(rows, mean, seed=seed)
    if low == high:  # nothing varies, which is no certainty
        like = wilson(round(min(max(value, 0.0), 1.0) * n), n)
        low, high = min(value, like.low), max(value, like.high)
    return MeanFigure(patterns=len(values(rows)), value=value, low=low, high=high)


def _run_in(units: dict[str, Unit], *arms: int) -> dict[str, Unit]:
    """The tasks that were run in all of these arms."""
    return {task: unit for task, unit in units.items() if all(unit[arm + 2] for arm in arms)}


def _units(seen: Sighted, tasks: Sequence[str]) -> dict[str, Unit]:
    """Replicate B by task of the support."""
    counted = {task: list(EMPTY) for task in tasks}
    arms = {BASE: seen.base, OPTIMIZED: seen.optimized, DISTILLED: seen.distilled}
    for at, sighted in (*arms.items(), (CONTROL, seen.control or ())):
        for task, shows, applies in sighted:
            if task in counted:
                counts = counted[task]
                counts[at] += shows
                counts[at + 1] += applies
                counts[at + 2] += 1
    return {task: tuple(counts) for task, counts in counted.items()}


def _sums(units: Iterable[Unit]) -> Unit:
    """The counts over tasks."""
    return tuple(map(sum, zip(*units, strict=True))) or EMPTY


def _rate(sums: Unit, arm: int) -> float:
    """Among the episodes with the occasion; not a number where none has it."""
    return sums[arm] / sums[arm + 1] if sums[arm + 1] else nan


def _shown(sums: Unit, arm: int) -> float:
    """Among all episodes."""
    return sums[arm] / sums[arm + 2] if sums[arm + 2] else nan


def _gain(sums: Unit) -> float:
    return _rate(sums, OPTIMIZED) - _rate(sums, BASE)


def _ratio(sums: Unit, arm: int) -> float:
    """(arm - base) / (h* - base); not a number where h* does nothing."""
    gain = _gain(sums)
    return (_rate(sums, arm) - _rate(sums, BASE)) / gain if gain > 0 else nan


def _none(value: float) -> float | None:
    return None if isnan(value) else value
