"""Intervals and tests for proportions and paired differences, in plain Python.

One rule for every figure: `wilson` for a proportion without repeats, `paired` for the difference
of two arms on the same tasks (Tango's score interval where each task gives one binary pair, a
bootstrap over tasks elsewhere). All are two-sided and deterministic: the bootstrap draws from its
own seed.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from statistics import NormalDist
from typing import NamedTuple, TypeVar

T = TypeVar("T")
CONFIDENCE = 0.95


class Interval(NamedTuple):
    """An estimate with its bounds, over `n` observations."""

    value: float
    low: float
    high: float
    n: int


def quantile(confidence: float) -> float:
    """The z of a two-sided interval: 1.96 for 0.95."""
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not {confidence}")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def wilson(successes: int, n: int, *, confidence: float = CONFIDENCE) -> Interval:
    """Score interval of one proportion (Wilson 1927, JASA 22:209). With n = 0 all is possible:
    the interval is 0…1 and the value 0.5."""
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes in {n}")
    if n == 0:
        return Interval(0.5, 0.0, 1.0, 0)
    z = quantile(confidence)
    rate = successes / n
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Interval(rate, low, high, n)


def tango(gained: int, lost: int, n: int, *, confidence: float = CONFIDENCE) -> Interval:
    """Score interval of the difference of two paired proportions (Tango 1998, Statistics in
    Medicine 17:891). Of `n` pairs, `gained` went from failed to solved and `lost` the other way;
    the value is (gained − lost) / n. With n = 0 the interval is −1…1."""
    if min(gained, lost) < 0 or gained + lost > n:
        raise ValueError(f"{gained} gained and {lost} lost in {n} pairs")
    if n == 0:
        return Interval(0.0, -1.0, 1.0, 0)
    z = quantile(confidence)
    value = (gained - lost) / n

    def beyond(delta: float) -> float:
        """How far the score statistic at `delta` lies outside ±z, negative inside; scaled by the
        standard error, which keeps it finite where that vanishes."""
        b = -gained - lost + (2 * n - gained + lost) * delta
        c = -lost * delta * (1 - delta)
        q = (sqrt(max(0.0, b * b - 8 * n * c)) - b) / (4 * n)
        variance = max(0.0, n * (2 * q + delta * (1 - delta)))
        return abs(gained - lost - n * delta) - z * sqrt(variance)

    return Interval(value, _crossing(beyond, value, -1.0), _crossing(beyond, value, 1.0), n)


def _crossing(beyond: Callable[[float], float], inside: float, outside: float) -> float:
    """Where `beyond` turns positive on the way out, by bisection to 1e-12."""
    if beyond(outside) <= 0:
        return outside
    for _ in range(60):
        middle = (inside + outside) / 2
        if beyond(middle) > 0:
            outside = middle
        else:
            inside = middle
    return (inside + outside) / 2


def bootstrap(
    units: Sequence[T],
    statistic: Callable[[Sequence[T]], float],
    *,
    seed: int,
    resamples: int = 2000,
    confidence: float = CONFIDENCE,
) -> Interval:
    """Percentile bootstrap over whole units (Efron & Tibshirani 1993, chapter 13). A unit is a task
    with all its episodes, so that repeats of one task do not count as independent. A resample on
    which `statistic` is not finite (a ratio with nothing below) is left out.

    Raises ValueError without units or where no resample gives a finite value.
    """
    if not units:
        raise ValueError("a bootstrap needs at least one unit")
    quantile(confidence)
    draw = random.Random(seed)
    drawn = (statistic(draw.choices(units, k=len(units))) for _ in range(resamples))
    values = sorted(value for value in drawn if isfinite(value))
    if not values:
        raise ValueError(f"none of {resamples} resamples has a finite value")
    tail = (1 - confidence) / 2
    last = len(values) - 1
    return Interval(
        statistic(units), values[round(tail * last)], values[round((1 - tail) * last)], len(units)
    )


@dataclass(frozen=True, slots=True)
class Moments:
    """Sufficient statistics of paired differences, clustered by task; they add up over tasks.

    `n` pairs and the `total` of their differences; over tasks with m pairs that sum to s:
    `squares` Σs², `cross` Σsm, `sizes` Σm².
    """

    n: int = 0
    total: float = 0.0
    squares: float = 0.0
    cross: float = 0.0
    sizes: float = 0.0

    def __add__(self, other: "Moments") -> "Moments":
        """The moments of both samples, which share no task."""
        return Moments(
            self.n + other.n,
            self.total + other.total,
            self.squares + other.squares,
            self.cross + other.cross,
            self.sizes + other.sizes,
        )

    @classmethod
    def of(cls, tasks: Sequence[Sequence[float]]) -> "Moments":
        """From the differences of each task."""
        found = cls()
        for task in tasks:
            m, s = len(task), float(sum(task))
            found += cls(m, s, s * s, s * m, m * m)
        return found

    @property
    def mean(self) -> float:
        """The plain mean difference, 0 without pairs."""
        return self.total / self.n if self.n else 0.0

    def estimate(self, *, pseudo: float = 1.0) -> tuple[float, float]:
        """Mean and standard error with `pseudo` pairs of +1 and as many of −1 added.

        With one of each and no repeats this is the adjusted Wald estimate of Bonett & Price (2012,
        J. Educ. Behav. Stat. 37:479): never a variance of zero, so no difference at all and a
        difference on every pair both stay uncertain. The variance over tasks is the sandwich one.
        """
        n = self.n + 2 * pseudo
        if n == 0:
            return 0.0, 0.0
        mean = self.total / n
        around = self.squares - 2 * mean * self.cross + mean * mean * self.sizes
        around += pseudo * ((1 - mean) ** 2 + (1 + mean) ** 2)
        return mean, sqrt(max(0.0, around)) / n


def paired(
    tasks: Sequence[Sequence[float]], *, seed: int, confidence: float = CONFIDENCE
) -> Interval:
    """The mean of paired differences (after − before), given for each task; `n` counts pairs.

    Tango's interval where every task has one difference of −1, 0 or 1; elsewhere a bootstrap over
    tasks; and where that has nothing to vary (all tasks alike), the adjusted Wald interval.
    """
    moments = Moments.of(tasks)
    flat = [value for task in tasks for value in task]
    if all(len(task) == 1 for task in tasks) and all(value in (-1.0, 0.0, 1.0) for value in flat):
        return tango(flat.count(1.0), flat.count(-1.0), len(flat), confidence=confidence)
    filled = [task for task in tasks if task]
    if not filled:
        return Interval(0.0, -1.0, 1.0, 0)
    if len({(len(task), round(sum(task), 12)) for task in filled}) == 1:
        mean, error = moments.estimate()
        half = quantile(confidence) * error
        low, high = max(-1.0, mean - half), min(1.0, mean + half)
        return Interval(moments.mean, min(low, moments.mean), max(high, moments.mean), moments.n)
    units = [(float(sum(task)), len(task)) for task in filled]
    found = bootstrap(units, _pooled, seed=seed, confidence=confidence)
    return Interval(moments.mean, found.low, found.high, moments.n)


def _pooled(units: Sequence[tuple[float, int]]) -> float:
    return sum(total for total, _ in units) / sum(size for _, size in units)
