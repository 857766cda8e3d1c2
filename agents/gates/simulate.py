"""A gate's error rates on simulated tasks (`regime`), by the very code that rules over trials.

A rollout is one episode: two a pair, and where only a share of the tasks shows the failure,
1 / `shown` screening episodes for each task picked.
"""

import math
from typing import Protocol

from evener.agents.gates.drawn import Drawn, draw_sides
from evener.agents.gates.regime import Independent, Regime
from evener.agents.gates.sample import Sample
from evener.protocols.attribution import TrialKind
from evener.protocols.digest import JsonObject, Wire
from evener.protocols.interval import Moments, quantile, wilson
from evener.protocols.verdict import Decision, Ruling

BLOCK = 1000


class Judging(Protocol):
    """A gate that can rule on sufficient statistics."""

    @property
    def name(self) -> str:
        """Which gate."""
        ...

    @property
    def settings(self) -> Wire:
        """All of its settings."""
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


class Share(Wire):
    """A simulated rate with its 95 % Monte-Carlo interval."""

    rate: float
    low: float
    high: float


class GateRates(Wire):
    """What a gate did over `replicates` simulated trials of one true effect. `effect_in` and
    `effect_out` are the mean differences that the simulated tasks really had."""

    gate: str
    gate_digest: str
    settings: JsonObject
    kind: TrialKind
    gain: float
    loss: float
    effect_in: float
    effect_out: float
    accept: Share
    reject: Share
    indecisive: Share
    mean_rollouts: float
    mean_rollouts_low: float
    mean_rollouts_high: float
    max_rollouts: int
    mean_pairs_in: float
    mean_pairs_out: float
    rollout_limit: int | None
    replicates: int
    seed: int
    regime: Regime


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

    With a `rollout_limit` a side stops at the pairs that it can still pay for, and where the regime
    has few tasks, at those: as in a trial. 20,000 replicates take seconds. Raises ValueError
    without replicates.
    """
    import numpy as np

    if replicates < 1:
        raise ValueError(f"replicates must be 1 or more, not {replicates}")
    regime = regime or Independent()
    draw = np.random.default_rng(seed)
    rulings: dict[Ruling, int] = dict.fromkeys(Ruling, 0)
    rollouts: list[float] = []
    pairs = [0, 0]
    effects = [Moments(), Moments()]
    costed = kind == "simplify"
    for start in range(0, replicates, BLOCK):
        block = min(BLOCK, replicates - start)
        sides = [
            draw_sides(
                draw,
                regime,
                beta,
                shift,
                pool=pool,
                replicates=block,
                pairs=most,
                costed=costed,
            )
            for beta, shift, pool, most in zip(
                (regime.held_in, regime.held_out),
                (gain, -loss),
                regime.pools,
                gate.most(kind),
                strict=True,
            )
        ]
        for held_in, held_out in zip(*sides, strict=True):
            ruling, spent = _trial(gate, held_in, held_out, kind, regime, rollout_limit)
            rulings[ruling] += 1
            rollouts.append(spent)
            for at, side in enumerate((held_in, held_out)):
                pairs[at] += side.size
                effects[at] += side.effect
    mean = sum(rollouts) / replicates
    spread = float(np.std(rollouts)) * quantile(0.95) / replicates**0.5
    return GateRates(
        gate=gate.name,
        gate_digest=gate.digest,
        settings=gate.settings.document(),
        kind=kind,
        gain=gain,
        loss=loss,
        effect_in=effects[0].mean,
        effect_out=effects[1].mean,
        accept=_share(rulings[Ruling.ACCEPT], replicates),
        reject=_share(rulings[Ruling.REJECT], replicates),
        indecisive=_share(rulings[Ruling.INDECISIVE], replicates),
        mean_rollouts=mean,
        mean_rollouts_low=mean - spread,
        mean_rollouts_high=mean + spread,
        max_rollouts=round(max(rollouts)),
        mean_pairs_in=pairs[0] / replicates,
        mean_pairs_out=pairs[1] / replicates,
        rollout_limit=rollout_limit,
        replicates=replicates,
        seed=seed,
        regime=regime,
    )


def _trial(
    gate: Judging,
    held_in: Drawn,
    held_out: Drawn,
    kind: TrialKind,
    regime: Regime,
    limit: int | None,
) -> tuple[Ruling, float]:
    """One trial as the validator drives it, on pairs that cost nothing."""
    price_in = 2 + (1 / regime.shown if regime.shown < 1 else 0)
    least = gate.least(kind)
    spent, dry = 0.0, [False, False]
    while True:
        decision = gate.judge(
            held_in, held_out, kind=kind, exhausted_in=dry[0], exhausted_out=dry[1]
        )
        if decision.ruling is not None:
            return decision.ruling, spent
        for at, (side, want, price) in enumerate(
            ((held_in, decision.want_in, price_in), (held_out, decision.want_out, 2))
        ):
            missing = max(0, want - side.size)
            left = math.inf if limit is None else limit - spent
            if at == 0:  # held_in leaves enough for a first look at held_out
                left -= 2 * max(0, least[1] - held_out.size)
            more = min(missing, side.most - side.size)
            if more * price > left:
                more = max(0, int(left // price))
            if more < missing:
                dry[at] = True
                if side.size + more < least[at]:
                    more = 0
            side.size += more
            spent += more * price


def _share(count: int, n: int) -> Share:
    found = wilson(count, n)
    return Share(rate=found.value, low=found.low, high=found.high)
