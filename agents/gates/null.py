"""The null control that costs no rollouts: sign flips of stored pairs.

If neither arm is better, before and after of a task could as well be swapped. Swapping them at
random, task by task, and asking the gate again gives its rate of false ACCEPTs on this very data.
"""

import random
from collections.abc import Sequence

from evener.protocols.attribution import TrialKind
from evener.protocols.digest import Wire
from evener.protocols.interval import wilson
from evener.protocols.port import Gate
from evener.protocols.verdict import Pair, Ruling


class NullRate(Wire):
    """The share of `flips` that the gate accepted, with its 95 % Monte-Carlo interval."""

    accept: float
    low: float
    high: float
    flips: int
    pairs_in: int
    pairs_out: int
    seed: int


def null_rate(
    gate: Gate,
    held_in: Sequence[Pair],
    held_out: Sequence[Pair],
    *,
    kind: TrialKind = "improve",
    flips: int = 500,
    seed: int = 0,
) -> NullRate:
    """Ask the gate about randomly swapped pairs, all of which it may see.

    The flips end where the pairs end: a trial that stopped early says less than a full schedule.
    """
    if flips < 1:
        raise ValueError(f"flips must be 1 or more, not {flips}")
    draw = random.Random(seed)
    accepted = 0
    for _ in range(flips):
        decision = gate.decide(
            _flipped(held_in, draw),
            _flipped(held_out, draw),
            kind=kind,
            exhausted_in=True,
            exhausted_out=True,
        )
        accepted += decision.ruling is Ruling.ACCEPT
    found = wilson(accepted, flips)
    return NullRate(
        accept=found.value,
        low=found.low,
        high=found.high,
        flips=flips,
        pairs_in=len(held_in),
        pairs_out=len(held_out),
        seed=seed,
    )


def _flipped(pairs: Sequence[Pair], draw: random.Random) -> list[Pair]:
    """All pairs of one task are swapped together: they are not independent."""
    swap = {task: draw.random() < 0.5 for task in dict.fromkeys(pair.task for pair in pairs)}
    return [
        pair.model_copy(
            update={
                "before": pair.after,
                "after": pair.before,
                "cost_before": pair.cost_after,
                "cost_after": pair.cost_before,
            }
        )
        if swap[pair.task]
        else pair
        for pair in pairs
    ]
