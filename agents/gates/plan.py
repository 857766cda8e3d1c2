"""What a gain costs to see: a gate's power and price over a range of true gains."""

from collections.abc import Sequence

from pydantic import Field

from evener.agents.gates.simulate import GateRates, Judging, Regime, simulate
from evener.protocols.attribution import TrialKind
from evener.protocols.digest import Wire

GAINS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)


class GatePlan(Wire):
    """The rates at each true gain. `smallest` is the least of these gains that is accepted with at
    least `power`, None where none is; `tasks_in` and `tasks_out` are the tasks on each side that
    such a trial may need (screened ones included), `rollouts` what it takes on average and
    `seconds` that at `seconds_per_rollout`."""

    power: float
    smallest: float | None
    tasks_in: int
    tasks_out: int
    rollouts: float
    seconds: float | None
    rows: tuple[GateRates, ...] = Field(min_length=1)


def plan(
    gate: Judging,
    *,
    gains: Sequence[float] = GAINS,
    power: float = 0.75,
    loss: float = 0.0,
    replicates: int = 2000,
    seed: int = 0,
    regime: Regime | None = None,
    kind: TrialKind = "improve",
    rollout_limit: int | None = None,
    seconds_per_rollout: float | None = None,
) -> GatePlan:
    """Simulate every gain (shares: 0.2 is 20 points) and find the smallest that the gate sees.

    Raises ValueError without gains or for a power outside 0…1.
    """
    if not gains:
        raise ValueError("a plan needs at least one gain")
    if not 0 < power < 1:
        raise ValueError(f"the power lies between 0 and 1, not {power}")
    regime = regime or Regime()
    rows = tuple(
        simulate(
            gate,
            gain=gain,
            loss=loss,
            replicates=replicates,
            seed=seed,
            regime=regime,
            kind=kind,
            rollout_limit=rollout_limit,
        )
        for gain in sorted(gains)
    )
    seen = next((row for row in rows if row.gain > 0 and row.accept.rate >= power), None)
    price = seen or rows[-1]
    tasks_in, tasks_out = gate.most(kind)
    return GatePlan(
        power=power,
        smallest=seen.gain if seen else None,
        tasks_in=round(tasks_in / regime.shown),
        tasks_out=tasks_out,
        rollouts=price.mean_rollouts,
        seconds=None if seconds_per_rollout is None else price.mean_rollouts * seconds_per_rollout,
        rows=rows,
    )
