"""A gate's error rates on simulated tasks, by the very code that rules over trials.

Each task has a pass probability of its own, drawn from a Beta distribution; both arms are drawn
independently, after the patch with the probability moved by `gain` on held_in and by −`loss` on
held_out (cut to 0…1). A rollout is one episode: two a pair, and where only a share of the tasks
shows the signature, 1 / `shown` screening episodes for each task picked.
"""

import math
from typing import TYPE_CHECKING, Protocol

from pydantic import Field

from evener.agents.gates.sample import Sample
from evener.protocols.attribution import TrialKind
from evener.protocols.digest import Wire
from evener.protocols.interval import Moments, quantile, wilson
from evener.protocols.verdict import Decision, Ruling

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK = 1000


class Judging(Protocol):
    """A gate that can rule on sufficient statistics."""

    @property
    def name(self) -> str:
        """Which gate."""
        ...

    @property
    def digest(self) -> str:
        """Digest of its settings."""
        ...

    def least(self, kind: TrialKind) -> tuple[int, int]:
        """The fewest pairs of each side that can end in ACCEPT."""
        ...

    def most(self, kind: TrialKind) -> tuple[int, int]:
        """The most pairs of each side it ever looks at."""
        ...

    def judge(
        self,
        held_in: Sample,
        held_out: Sample,
        *,
        kind: TrialKind,
        exhausted_in: bool = False,
        exhausted_out: bool = False,
    ) -> Decision:
        """The ruling, or the totals wanted next."""
        ...


class Regime(Wire):
    """The tasks: Beta parameters of their pass probabilities before the patch, the mean tokens of
    an episode and how many of them the change saves, and the share of held_in tasks that show the
    signature (1: no screening)."""

    held_in: tuple[float, float] = (2.0, 4.0)
    held_out: tuple[float, float] = (8.0, 2.0)
    tokens: float = Field(default=100.0, gt=0)
    saved: float = 0.0
    shown: float = Field(default=1.0, gt=0, le=1)


class Share(Wire):
    """A simulated rate with its 95 % Monte-Carlo interval."""

    rate: float
    low: float
    high: float


class GateRates(Wire):
    """What a gate did over `replicates` simulated trials of one true effect."""

    gate: str
    gate_digest: str
    kind: TrialKind
    gain: float
    loss: float
    accept: Share
    reject: Share
    indecisive: Share
    mean_rollouts: float
    mean_rollouts_low: float
    mean_rollouts_high: float
    max_rollouts: int
    mean_pairs_in: float
    mean_pairs_out: float
    replicates: int
    seed: int
    regime: Regime


class _Drawn:
    """One simulated side: running sums over its pairs, every task once."""

    __slots__ = ("_cost", "_squares", "_total", "size")

    def __init__(
        self,
        total: "NDArray[np.int64]",
        squares: "NDArray[np.int64]",
        cost: "NDArray[np.float64] | None",
    ) -> None:
        self._total = total
        self._squares = squares
        self._cost = cost
        self.size = 0

    def reward(self, n: int) -> Moments:
        """Reward after − before of the first `n` pairs."""
        total = float(self._total[n - 1]) if n else 0.0
        return Moments(n, total, float(self._squares[n - 1]) if n else 0.0, total, n)

    def cost(self, n: int) -> Moments:
        """Tokens after − before of the first `n` pairs."""
        if self._cost is None:
            return Moments(n, 0.0, 0.0, 0.0, n)
        return Moments.of([[float(value)] for value in self._cost[:n]])


def simulate(
    gate: Judging,
    *,
    gain: float,
    loss: float = 0.0,
    replicates: int = 4000,
    seed: int = 0,
    regime: Regime | None = None,
    kind: TrialKind = "improve",
    rollout_limit: int | None = None,
) -> GateRates:
    """How often the gate accepts, rejects and stays undecided where the true effect is `gain` on
    held_in and −`loss` on held_out (shares: 0.2 is 20 points), and at what cost.

    With a `rollout_limit` a side stops at the pairs that it can still pay for, as in a trial.
    20,000 replicates take seconds.
    """
    import numpy as np

    if replicates < 1:
        raise ValueError(f"replicates must be 1 or more, not {replicates}")
    regime = regime or Regime()
    draw = np.random.default_rng(seed)
    rulings: dict[Ruling, int] = dict.fromkeys(Ruling, 0)
    rollouts: list[float] = []
    pairs_in = pairs_out = 0
    sizes = gate.most(kind)
    costed = kind == "simplify"
    for start in range(0, replicates, BLOCK):
        block = min(BLOCK, replicates - start)
        sides_in = _side(draw, block, sizes[0], regime.held_in, gain, regime, costed=costed)
        sides_out = _side(draw, block, sizes[1], regime.held_out, -loss, regime, costed=costed)
        for held_in, held_out in zip(sides_in, sides_out, strict=True):
            ruling, spent = _trial(gate, held_in, held_out, kind, regime, rollout_limit)
            rulings[ruling] += 1
            rollouts.append(spent)
            pairs_in += held_in.size
            pairs_out += held_out.size
    mean = sum(rollouts) / replicates
    spread = float(np.std(rollouts)) * quantile(0.95) / replicates**0.5
    return GateRates(
        gate=gate.name,
        gate_digest=gate.digest,
        kind=kind,
        gain=gain,
        loss=loss,
        accept=_share(rulings[Ruling.ACCEPT], replicates),
        reject=_share(rulings[Ruling.REJECT], replicates),
        indecisive=_share(rulings[Ruling.INDECISIVE], replicates),
        mean_rollouts=mean,
        mean_rollouts_low=mean - spread,
        mean_rollouts_high=mean + spread,
        max_rollouts=round(max(rollouts)),
        mean_pairs_in=pairs_in / replicates,
        mean_pairs_out=pairs_out / replicates,
        replicates=replicates,
        seed=seed,
        regime=regime,
    )


def _trial(
    gate: Judging,
    held_in: _Drawn,
    held_out: _Drawn,
    kind: TrialKind,
    regime: Regime,
    limit: int | None,
) -> tuple[Ruling, float]:
    """One trial as the validator drives it, on pairs that cost nothing."""
    price_in = 2 + (1 / regime.shown if regime.shown < 1 else 0)
    spent, short = 0.0, [False, False]
    while True:
        decision = gate.judge(
            held_in, held_out, kind=kind, exhausted_in=short[0], exhausted_out=short[1]
        )
        if decision.ruling is not None:
            return decision.ruling, spent
        for at, (side, want, price) in enumerate(
            ((held_in, decision.want_in, price_in), (held_out, decision.want_out, 2))
        ):
            more = max(0, want - side.size)
            left = math.inf if limit is None else limit - spent
            if at == 0:
                left -= 2 * max(0, gate.least(kind)[1] - held_out.size)
            if more * price > left:
                more, short[at] = max(0, int(left // price)), True
            side.size += more
            spent += more * price


def _side(
    draw: "np.random.Generator",
    replicates: int,
    size: int,
    beta: tuple[float, float],
    shift: float,
    regime: Regime,
    *,
    costed: bool,
) -> list[_Drawn]:
    import numpy as np

    shape = (replicates, size)
    before = draw.beta(*beta, size=shape)
    after = np.clip(before + shift, 0.0, 1.0)
    passed = (draw.random(shape) < after).astype(np.int64)
    difference = passed - (draw.random(shape) < before)
    costs: list[NDArray[np.float64]] | list[None] = [None] * replicates
    if costed:
        was = draw.gamma(4.0, regime.tokens / 4, size=shape)
        costs = list(draw.gamma(4.0, max(0.0, regime.tokens - regime.saved) / 4, size=shape) - was)
    total = np.cumsum(difference, axis=1)
    squares = np.cumsum(difference * difference, axis=1)
    return [_Drawn(t, s, c) for t, s, c in zip(total, squares, costs, strict=True)]


def _share(count: int, n: int) -> Share:
    found = wilson(count, n)
    return Share(rate=found.value, low=found.low, high=found.high)
