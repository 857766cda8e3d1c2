"""What a gate looks at: the first n pairs of a side, as sufficient statistics.

A gate only ever asks for prefixes, so its ruling depends on the order in which pairs came in and
never on how often it was asked. Trials show real pairs; the simulation shows sums of drawn ones.
"""

from collections.abc import Sequence
from typing import Protocol

from evener.protocols.interval import Moments, paired
from evener.protocols.verdict import Delta, Pair


class Sample(Protocol):
    """One side of a trial, held_in or held_out."""

    @property
    def size(self) -> int:
        """How many pairs there are."""
        ...

    def reward(self, n: int) -> Moments:
        """Reward after − before of the first `n` pairs."""
        ...

    def cost(self, n: int) -> Moments:
        """Tokens after − before of the first `n` pairs."""
        ...


class PairSample:
    """The pairs of a trial; those of one task belong together."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self._pairs = pairs

    @property
    def size(self) -> int:
        """How many pairs there are."""
        return len(self._pairs)

    def reward(self, n: int) -> Moments:
        """Reward after − before of the first `n` pairs."""
        return Moments.of(by_task(self._pairs[:n]))

    def cost(self, n: int) -> Moments:
        """Tokens after − before of the first `n` pairs."""
        tasks: dict[str, list[float]] = {}
        for pair in self._pairs[:n]:
            tasks.setdefault(pair.task, []).append(pair.cost_after - pair.cost_before)
        return Moments.of(list(tasks.values()))


def by_task(pairs: Sequence[Pair]) -> list[list[float]]:
    """The reward differences of each task, in the order in which the tasks came in."""
    tasks: dict[str, list[float]] = {}
    for pair in pairs:
        tasks.setdefault(pair.task, []).append(pair.after - pair.before)
    return list(tasks.values())


def delta(pairs: Sequence[Pair], *, seed: int) -> Delta | None:
    """The mean difference with its 95 % interval; None without pairs."""
    if not pairs:
        return None
    found = paired(by_task(pairs), seed=seed)
    return Delta(value=found.value, low=found.low, high=found.high, n=found.n)
