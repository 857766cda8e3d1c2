"""What a gain costs to see: a gate's power and price over true gains, and the tasks it takes."""

from collections.abc import Callable, Sequence

from pydantic import Field

from evener.agents.gates.regime import Independent, Regime
from evener.agents.gates.simulate import GateRates, Judging, Share, simulate
from evener.protocols.attribution import TrialKind
from evener.protocols.digest import Wire

GAINS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8)


class Need(Wire):
    """About how many tasks of each side make the gate accept a true `gain` as often as asked: with
    fewer on either side it does so less often (on held_in all count, also those that do not show
    the failure). `rollouts` is what a trial then takes on average."""

    gain: float
    tasks_in: int
    tasks_out: int
    accept: Share
    rollouts: float
    max_rollouts: int
    cpu_seconds: float | None
    tokens: float | None


class GatePlan(Wire):
    """The rates at each true gain. `smallest` is the least gain, in steps of a point, that is
    accepted with at least `power`; None where not even the greatest of the rows is. `need` is for
    `gain` where one was asked for, else for `smallest`; None where no number of the regime's tasks
    is enough."""

    gate: str
    gate_digest: str
    kind: TrialKind
    power: float
    gain: float | None
    smallest: float | None
    need: Need | None
    cpu_per_rollout: float | None
    tokens_per_rollout: float | None
    rows: tuple[GateRates, ...] = Field(min_length=1)


def plan(
    gate: Judging,
    *,
    gain: float | None = None,
    gains: Sequence[float] = GAINS,
    power: float = 0.75,
    loss: float = 0.0,
    replicates: int = 2000,
    seed: int = 0,
    regime: Regime | None = None,
    kind: TrialKind = "improve",
    rollout_limit: int | None = None,
    cpu_per_rollout: float | None = None,
    tokens_per_rollout: float | None = None,
) -> GatePlan:
    """Simulate all gains (shares: 0.2 is 20 points), find the smallest that the gate sees with the
    regime's tasks, and the tasks that it, or `gain`, needs.

    Raises ValueError without gains or for a power outside 0…1.
    """
    if not gains:
        raise ValueError("a plan needs at least one gain")
    if not 0 < power < 1:
        raise ValueError(f"the power lies between 0 and 1, not {power}")

    def rates(gain: float, regime: Regime) -> GateRates:
        return simulate(
            gate,
            gain=gain,
            loss=loss,
            replicates=replicates,
            seed=seed,
            regime=regime,
            kind=kind,
            rollout_limit=rollout_limit,
        )

    regime = regime or Independent()
    asked = () if gain is None else (gain,)
    rows = tuple(rates(one, regime) for one in sorted({*gains, *asked}))
    smallest = _smallest(rows, power, lambda one: rates(one, regime).accept.rate)
    target = smallest if gain is None else gain
    found = None
    if target is not None:
        found = _fewest(gate.most(kind), regime, power, lambda tasks: rates(target, tasks))
    need = None
    if found is not None:
        tasks_in, tasks_out, at = found
        need = Need(
            gain=at.gain,
            tasks_in=tasks_in,
            tasks_out=tasks_out,
            accept=at.accept,
            rollouts=at.mean_rollouts,
            max_rollouts=at.max_rollouts,
            cpu_seconds=_times(at.mean_rollouts, cpu_per_rollout),
            tokens=_times(at.mean_rollouts, tokens_per_rollout),
        )
    return GatePlan(
        gate=gate.name,
        gate_digest=gate.digest,
        kind=kind,
        power=power,
        gain=gain,
        smallest=smallest,
        need=need,
        cpu_per_rollout=cpu_per_rollout,
        tokens_per_rollout=tokens_per_rollout,
        rows=rows,
    )


def _smallest(
    rows: Sequence[GateRates], power: float, accepted: Callable[[float], float]
) -> float | None:
    """Between the first row that is seen and the one before it, by bisection."""
    seen = next((row.gain for row in rows if row.gain > 0 and row.accept.rate >= power), None)
    if seen is None:
        return None
    under = max((row.gain for row in rows if row.gain < seen), default=0.0)
    low, high = round(100 * max(0.0, under)), round(100 * seen)
    while high - low > 1:
        middle = (low + high) // 2
        if accepted(middle / 100) >= power:
            high = middle
        else:
            low = middle
    return high / 100


def _fewest(
    most: tuple[int, int], regime: Regime, power: float, rates: Callable[[Regime], GateRates]
) -> tuple[int, int, GateRates] | None:
    """First the fewest on held_out with all of held_in, then the fewest on held_in with those."""
    tasks_in = regime.tasks_in or -int(-most[0] / regime.shown // 1)
    tasks_out = regime.tasks_out or most[1]

    def at(tasks_in: int, tasks_out: int) -> GateRates:
        return rates(regime.model_copy(update={"tasks_in": tasks_in, "tasks_out": tasks_out}))

    if at(tasks_in, tasks_out).accept.rate < power:
        return None
    tasks_out = _least(tasks_out, lambda n: at(tasks_in, n).accept.rate >= power)
    tasks_in = _least(tasks_in, lambda n: at(n, tasks_out).accept.rate >= power)
    return tasks_in, tasks_out, at(tasks_in, tasks_out)


def _least(enough: int, suffices: Callable[[int], bool]) -> int:
    """The least number that suffices, by bisection from one that does."""
    short = 0
    while enough - short > 1:
        middle = (short + enough) // 2
        if suffices(middle):
            enough = middle
        else:
            short = middle
    return enough


def _times(rollouts: float, price: float | None) -> float | None:
    return None if price is None else rollouts * price
