"""Null controls: how often a gate accepts where nothing is to be found, on a run's own data.

Sign flips cost no rollouts: if neither arm is better, before and after of a task could as well be
swapped, so they are, at random, task by task, and the gate is asked again. A/A trials do cost some:
a harness against itself, with seeds of its own for each arm.
"""

import random
from collections.abc import Sequence

from evener.agents.gates.sample import by_task
from evener.protocols.attribution import TrialKind
from evener.protocols.digest import Wire
from evener.protocols.interval import paired, wilson
from evener.protocols.port import Gate
from evener.protocols.summary import Control
from evener.protocols.verdict import Pair, Ruling, Verdict


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
    Raises ValueError without flips.
    """
    if flips < 1:
        raise ValueError(f"flips must be 1 or more, not {flips}")
    accepted = _accepted(gate, held_in, held_out, kind, flips, random.Random(seed))
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


def null_control(
    gate: Gate, verdicts: Sequence[Verdict], *, flips: int = 1000, seed: int = 0
) -> Control:
    """`flips` sign flips, spread evenly over the verdicts that `can_flip`, each asked as a trial of
    its own kind; `pairs` counts the pairs of these verdicts. Without any such verdict there are no
    trials, and the rate may be anything from 0 to 1.

    A flipped trial has the pairs that the trial had. One that stopped at its first look, as a huge
    effect makes it, says how often that first look errs on pairs of which most differ, and nothing
    of later looks: the rate is that of the run's own trials at the sizes at which they stopped. The
    interval is that of the random flips; it knows nothing of other tasks. Raises ValueError without
    flips.
    """
    if flips < 1:
        raise ValueError(f"flips must be 1 or more, not {flips}")
    used = [verdict for verdict in verdicts if can_flip(gate, verdict)]
    draw = random.Random(seed)
    accepted = 0
    for at, verdict in enumerate(used):
        share = flips // len(used) + (at < flips % len(used))
        accepted += _accepted(gate, verdict.pairs_in, verdict.pairs_out, verdict.kind, share, draw)
    pairs = sum(len(verdict.pairs_in) + len(verdict.pairs_out) for verdict in used)
    return _control("sign flips", accepted, flips if used else 0, pairs=pairs, seed=seed)


def can_flip(gate: Gate, verdict: Verdict) -> bool:
    """Whether a trial has pairs for a first look at both sides. One that ended on held_in alone
    could not be accepted whatever the signs, and would only dilute the rate."""
    least_in, least_out = gate.least(verdict.kind)
    return len(verdict.pairs_in) >= least_in and len(verdict.pairs_out) >= least_out


def aa_control(verdicts: Sequence[Verdict], *, temperature: float, seed: int) -> Control:
    """What A/A trials found: how many were accepted, and the difference pooled over all pairs of
    both sides, clustered by task. `seed` is that of the trials, and of the interval's bootstrap.

    At temperature 0 both arms are the same by construction, and this says nothing.
    """
    pairs = [pair for verdict in verdicts for pair in (*verdict.pairs_in, *verdict.pairs_out)]
    accepted = sum(verdict.ruling is Ruling.ACCEPT for verdict in verdicts)
    control = _control("A/A", accepted, len(verdicts), pairs=len(pairs), seed=seed)
    control = control.model_copy(update={"temperature": temperature})
    if not pairs:
        return control
    found = paired(by_task(pairs), seed=seed)
    return control.model_copy(
        update={
            "difference": found.value,
            "difference_low": found.low,
            "difference_high": found.high,
        }
    )


def _control(name: str, accepted: int, trials: int, *, pairs: int, seed: int) -> Control:
    found = wilson(accepted, trials)
    return Control.model_validate(
        {
            "name": name,
            "trials": trials,
            "accepted": accepted,
            "rate": found.value if trials else 0.0,
            "low": found.low,
            "high": found.high,
            "pairs": pairs,
            "seed": seed,
        }
    )


def _accepted(
    gate: Gate,
    held_in: Sequence[Pair],
    held_out: Sequence[Pair],
    kind: TrialKind,
    flips: int,
    draw: random.Random,
) -> int:
    """How many of `flips` random flips the gate accepts."""
    sides = [(side, [_swapped(pair) for pair in side]) for side in (held_in, held_out)]
    accepted = 0
    for _ in range(flips):
        flipped_in, flipped_out = (_flipped(side, swapped, draw) for side, swapped in sides)
        decision = gate.decide(
            flipped_in, flipped_out, kind=kind, exhausted_in=True, exhausted_out=True
        )
        accepted += decision.ruling is Ruling.ACCEPT
    return accepted


def _swapped(pair: Pair) -> Pair:
    return pair.model_copy(
        update={
            "before": pair.after,
            "after": pair.before,
            "cost_before": pair.cost_after,
            "cost_after": pair.cost_before,
        }
    )


def _flipped(pairs: Sequence[Pair], swapped: Sequence[Pair], draw: random.Random) -> list[Pair]:
    """All pairs of one task are swapped together: they are not independent."""
    swap = {task: draw.random() < 0.5 for task in dict.fromkeys(pair.task for pair in pairs)}
    return [
        turned if swap[pair.task] else pair for pair, turned in zip(pairs, swapped, strict=True)
    ]
