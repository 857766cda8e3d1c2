"""Walking a schedule of looks: the first look that settles a side ends it.

A walk is a function of the pairs' order alone. Where the pairs end between two looks, one last look
is made at the end with the next look's z: that takes the place of all looks still to come, so the
error of the schedule is not exceeded. Short of the first look nothing is ever settled.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from evener.agents.gates.sample import Sample
from evener.protocols.interval import Moments

Look = tuple[int, float]


class State(Enum):
    """Of one side: its bar is met, it is clear that the trial fails here, or neither yet."""

    MET = "met"
    FAILED = "failed"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Walked:
    """Where a side stands after `n` pairs; `want` is the next look's size, 0 if there is none."""

    state: State
    n: int
    want: int
    reason: str


Judge = Callable[[int, float], tuple[State, str]]


def walk(sample: Sample, looks: Sequence[Look], judge: Judge, *, exhausted: bool) -> Walked:
    """Judge each look that the pairs reach until one settles the side."""
    seen, reason = 0, ""
    for size, z in looks:
        at = size
        if sample.size < size:
            if not exhausted:
                return Walked(State.OPEN, seen, size, reason)
            if seen == 0:
                return Walked(State.OPEN, 0, 0, f"{sample.size} of {size} pairs for a first look")
            if sample.size == seen:
                break
            at = sample.size
        state, reason = judge(at, z)
        seen = at
        if state is not State.OPEN:
            return Walked(state, seen, 0, reason)
        if at < size:
            break
    return Walked(State.OPEN, seen, 0, reason)


def points(share: float) -> str:
    """A difference of shares in points: `+12.5`."""
    return f"{100 * share:+.1f}"


def student(z: float, moments: Moments) -> float:
    """`z` itself where no task repeats; else the quantile of Student's t with the same tail, whose
    degrees of freedom are the tasks less one, for an error that is estimated from few tasks is too
    small too often. Unequal repeats count as n² / Σm² tasks (Kish's effective number). The quantile
    is expanded in 1/ν (Abramowitz & Stegun 26.7.5)."""
    if moments.sizes <= moments.n:
        return z
    v = max(1.0, moments.n**2 / moments.sizes - 1)
    return (
        z
        + (z**3 + z) / (4 * v)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
    )


def above(
    name: str, moments: Moments, z: float, *, bar: float, floor: float, z_reject: float
) -> tuple[State, str]:
    """MET where the lower bound at `z` is above `bar`, else FAILED where the upper bound at
    `z_reject` is under `floor`."""
    mean, error = moments.estimate()
    low = mean - student(z, moments) * error
    high = mean + student(z_reject, moments) * error
    what = f"{name} {points(moments.mean)} points over {moments.n} pairs"
    if low > bar:
        return State.MET, f"{what}, lower bound {points(low)} above {points(bar)}"
    if high < floor:
        return State.FAILED, f"{what}, upper bound {points(high)} under {points(floor)}"
    return State.OPEN, f"{what}, lower bound {points(low)} not above {points(bar)}"


def cheaper(moments: Moments, z: float) -> tuple[State, str]:
    """MET where fewer tokens are clear at `z`; FAILED where they are clearly not fewer."""
    mean, error = moments.estimate(pseudo=0)
    z = student(z, moments)
    what = f"{mean:+.1f} tokens a pair over {moments.n} pairs"
    if mean + z * error < 0:
        return State.MET, f"cheaper by {what}"
    if mean - z * error >= 0:
        return State.FAILED, f"not cheaper: {what}"
    return State.OPEN, f"not clearly cheaper: {what}"
