"""What a gain costs to see, and what a number of tasks can show."""

import pytest

from evener.agents.gates.paired import PairedGate
from evener.agents.gates.plan import GatePlan, plan
from evener.agents.gates.regime import Finite, Independent
from evener.agents.gates.simulate import simulate

GATE = PairedGate()
N = 200


def test_a_plan_names_the_smallest_gain_that_is_seen_to_a_point() -> None:
    found = plan(GATE, gains=(0.4, 0.1, 0.2, 0.3), power=0.75, replicates=N)
    assert [row.gain for row in found.rows] == [0.1, 0.2, 0.3, 0.4]
    smallest = found.smallest
    assert smallest is not None
    assert 0.15 <= smallest <= 0.25
    assert round(100 * smallest) == pytest.approx(100 * smallest)
    assert simulate(GATE, gain=smallest, replicates=N).accept.rate >= 0.75
    under = simulate(GATE, gain=smallest - 0.01, replicates=N)
    assert under.accept.rate < 0.75
    assert found.need is not None
    assert found.need.gain == smallest
    assert (found.gate_digest, found.power) == (GATE.digest, 0.75)


def test_a_gain_needs_so_many_tasks_and_no_fewer() -> None:
    need = plan(GATE, gain=0.3, gains=(0.3,), power=0.7, replicates=N, cpu_per_rollout=0.5).need
    assert need is not None
    assert need.gain == 0.3
    assert 30 <= need.tasks_in < 120
    assert 70 <= need.tasks_out < 170

    def at(tasks_in: int, tasks_out: int) -> float:
        regime = Independent(tasks_in=tasks_in, tasks_out=tasks_out)
        return simulate(GATE, gain=0.3, replicates=N, regime=regime).accept.rate

    assert at(need.tasks_in, need.tasks_out) == need.accept.rate >= 0.7
    assert at(need.tasks_in - 1, need.tasks_out) < 0.7
    assert at(120, need.tasks_out - 1) < 0.7
    assert need.cpu_seconds == need.rollouts / 2
    assert need.tokens is None
    assert need.max_rollouts <= 2 * (need.tasks_in + need.tasks_out)


def test_screening_multiplies_the_tasks_held_in() -> None:
    plain = plan(GATE, gain=0.4, gains=(0.4,), power=0.5, replicates=N).need
    screened = plan(
        GATE, gain=0.4, gains=(0.4,), power=0.5, replicates=N, regime=Independent(shown=0.25)
    ).need
    assert plain is not None
    assert screened is not None
    assert screened.tasks_in == 4 * plain.tasks_in
    assert screened.tasks_out == plain.tasks_out


def test_few_tasks_show_large_gains_only() -> None:
    def smallest(tasks: int) -> float | None:
        regime = Finite(tasks_in=tasks, tasks_out=200)
        return plan(GATE, power=0.7, replicates=N, regime=regime).smallest

    many, few = smallest(80), smallest(12)
    assert many is not None
    assert few is not None
    assert few > many + 0.05


def test_a_plan_says_when_no_gain_is_seen() -> None:
    few = Independent(tasks_in=29)
    found = plan(GATE, replicates=100, regime=few, gains=(0.2, 0.9))
    assert (found.smallest, found.need) == (None, None)
    assert found.rows[1].indecisive.rate == 1.0
    assert found.rows[1].max_rollouts == 0
    asked = plan(GATE, gain=0.05, gains=(0.0,), replicates=100)
    assert [row.gain for row in asked.rows] == [0.0, 0.05]
    assert asked.need is None
    assert asked.gain == 0.05


def test_a_gain_of_nothing_is_never_the_smallest_that_is_seen() -> None:
    found = plan(GATE, gains=(0.0, 0.4), power=0.01, replicates=100)
    assert found.smallest is not None
    assert found.smallest > 0


def test_costs_are_rollouts_times_their_price() -> None:
    found = plan(GATE, gain=0.4, gains=(0.4,), power=0.5, replicates=100, tokens_per_rollout=700.0)
    assert found.need is not None
    assert found.need.tokens == found.need.rollouts * 700
    assert found.need.cpu_seconds is None
    assert GatePlan.model_validate_json(found.model_dump_json()) == found


def test_senseless_plans_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one gain"):
        plan(GATE, gains=())
    for power in (0.0, 1.0, 75.0):
        with pytest.raises(ValueError, match="between 0 and 1"):
            plan(GATE, power=power)
