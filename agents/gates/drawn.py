"""Simulated sides of a trial: running sums over their pairs, clustered by task."""

from typing import TYPE_CHECKING

from evener.agents.gates.regime import Beta, Tasks
from evener.protocols.interval import Moments

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Sums:
    """The moments of every prefix of one simulated side."""

    __slots__ = ("_cross", "_sizes", "_squares", "_total")

    def __init__(
        self,
        total: "NDArray[np.float64]",
        squares: "NDArray[np.float64]",
        cross: "NDArray[np.float64]",
        sizes: "NDArray[np.float64]",
    ) -> None:
        self._total = total
        self._squares = squares
        self._cross = cross
        self._sizes = sizes

    def at(self, n: int) -> Moments:
        """Of the first `n` pairs."""
        if n == 0:
            return Moments()
        return Moments(
            n,
            float(self._total[n - 1]),
            float(self._squares[n - 1]),
            float(self._cross[n - 1]),
            float(self._sizes[n - 1]),
        )


class Drawn:
    """One simulated side, a `Sample` of which `size` pairs were run so far, of `most` that there
    are."""

    __slots__ = ("_cost", "_reward", "most", "size")

    def __init__(self, reward: Sums, cost: Sums | None, *, most: int) -> None:
        self._reward = reward
        self._cost = cost
        self.most = most
        self.size = 0

    def reward(self, n: int) -> Moments:
        """Reward after − before of the first `n` pairs."""
        return self._reward.at(n)

    def cost(self, n: int) -> Moments:
        """Cost after − before of the first `n` pairs, in episodes before the change."""
        return self._cost.at(n) if self._cost else Moments()

    @property
    def effect(self) -> Moments:
        """Of all pairs there are, run or not."""
        return self._reward.at(self.most)


def draw_sides(
    draw: "np.random.Generator",
    regime: Tasks,
    beta: Beta,
    shift: float,
    *,
    pool: int | None,
    replicates: int,
    pairs: int,
    costed: bool,
) -> list[Drawn]:
    """`replicates` sides of up to `pairs` pairs: the tasks of a pool in turn, then again as often
    as the regime repeats them."""
    import numpy as np

    most = pairs if pool is None else min(pairs, pool * regime.passes)
    # without repeats all is drawn, so that fewer tasks are the first of more
    tasks = pairs if pool is None or regime.passes == 1 else max(1, min(pool, pairs))
    shape = (replicates, max(1, -(-most // tasks)), tasks)
    before, after = regime.outcomes(draw, beta, shift, shape)
    rewards = _sums(after.astype(np.float64) - before)
    costs: list[Sums] | list[None] = [None] * replicates
    if costed:
        dearer = draw.gamma(4.0, (1 - regime.saved) / 4, size=shape)
        costs = _sums(dearer - draw.gamma(4.0, 0.25, size=shape))
    return [Drawn(r, c, most=most) for r, c in zip(rewards, costs, strict=True)]


def _sums(difference: "NDArray[np.float64]") -> list[Sums]:
    """From differences (replicates, passes, tasks). A pair of a task with m pairs that sum to s
    adds 2sd + d² to Σs², s + d(m + 1) to Σsm and 2m + 1 to Σm²."""
    import numpy as np

    replicates, passes, tasks = difference.shape
    flat = (replicates, passes * tasks)
    s = np.cumsum(difference, axis=1) - difference
    m = np.arange(passes, dtype=np.float64)[:, None]
    total = np.cumsum(difference.reshape(flat), axis=1)
    squares = np.cumsum((difference * (2 * s + difference)).reshape(flat), axis=1)
    cross = np.cumsum((s + difference * (m + 1)).reshape(flat), axis=1)
    sizes = np.cumsum(np.broadcast_to(2 * m + 1, (passes, tasks)))
    return [Sums(t, q, c, sizes) for t, q, c in zip(total, squares, cross, strict=True)]
