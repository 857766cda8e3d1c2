"""The error rates that the gates are chosen for, from the very code that rules over trials."""

import pytest

from evener.agents.gates.paired import SCHEDULES, PairedGate, PairedSettings
from evener.agents.gates.paper import PaperGate
from evener.agents.gates.regime import Independent
from evener.agents.gates.simulate import GateRates, simulate

DEFAULT, SMALL = PairedGate(SCHEDULES["default"]), PairedGate(SCHEDULES["small"])
N = 6000
# Monte-Carlo error of a rate of 0.05 with N replicates is 0.0028: the true rates (20,000
# replicates, other seeds) lie far enough inside the bars for these checks to be stable.


def rates(gate: PairedGate | PaperGate, gain: float, loss: float = 0.0) -> GateRates:
    return simulate(gate, gain=gain, loss=loss, replicates=N, seed=11)


def test_the_default_gate_seldom_accepts_what_does_nothing() -> None:
    assert rates(DEFAULT, 0.0).accept.rate <= 0.05


def test_the_default_gate_sees_twenty_points_within_four_hundred_rollouts() -> None:
    found = rates(DEFAULT, 0.2)
    assert found.accept.rate >= 0.75
    assert found.mean_rollouts <= 400
    assert found.max_rollouts == 2 * (120 + 170)


def test_the_default_gate_seldom_accepts_a_gain_that_breaks_other_things() -> None:
    assert rates(DEFAULT, 0.2, 0.1).accept.rate <= 0.10


def test_the_small_schedule_keeps_its_promises() -> None:
    assert rates(SMALL, 0.0).accept.rate <= 0.05
    large = rates(SMALL, 0.4)
    assert large.accept.rate >= 0.8
    assert large.max_rollouts == 200
    assert rates(SMALL, 0.4, 0.2).accept.rate <= 0.04


@pytest.mark.parametrize("gate", [DEFAULT, SMALL])
@pytest.mark.parametrize("held_out", [(8.0, 2.0), (2.0, 4.0)])
def test_a_model_that_only_differs_is_seldom_accepted(
    gate: PairedGate, held_out: tuple[float, float]
) -> None:
    found = simulate(
        gate,
        gain=0.0,
        replicates=N,
        seed=11,
        regime=Independent(held_out=held_out),
        kind="model",
    )
    assert found.accept.rate <= 0.05


def simplify(gain: float, loss: float, *, saved: float) -> float:
    found = simulate(
        DEFAULT,
        gain=gain,
        loss=loss,
        replicates=1500,
        seed=11,
        regime=Independent(saved=saved),
        kind="simplify",
    )
    return found.accept.rate


def test_a_simplification_that_is_equal_and_cheaper_is_mostly_accepted() -> None:
    assert simplify(0.0, 0.0, saved=0.3) >= 0.55
    assert simplify(0.0, 0.0, saved=0.0) <= 0.06
    assert simplify(0.0, 0.0, saved=-0.3) == 0.0


@pytest.mark.parametrize(("gain", "loss"), [(-0.2, 0.0), (0.0, 0.2), (-0.2, 0.2)])
def test_a_simplification_that_loses_twenty_points_is_hardly_ever_accepted(
    gain: float, loss: float
) -> None:
    assert simplify(gain, loss, saved=0.3) <= 0.01


@pytest.mark.parametrize(("gain", "loss"), [(-0.1, 0.0), (0.0, 0.1)])
def test_a_simplification_that_loses_ten_points_is_seldom_accepted(
    gain: float, loss: float
) -> None:
    assert simplify(gain, loss, saved=0.3) <= 0.12


@pytest.mark.parametrize(("rounds", "bar"), [(2, 0.025), (3, 0.017)])
def test_a_confirmation_has_its_share_of_the_error(rounds: int, bar: float) -> None:
    gate = PairedGate(PairedSettings(rounds=rounds))
    null = simulate(gate, gain=0.0, replicates=N, seed=11, kind="confirm")
    assert null.accept.rate <= bar
    assert simulate(gate, gain=0.3, replicates=1000, seed=11, kind="confirm").accept.rate >= 0.75
    # the other kinds have the whole of it
    plain = simulate(gate, gain=0.0, replicates=2000, seed=11)
    assert plain == simulate(DEFAULT, gain=0.0, replicates=2000, seed=11).model_copy(
        update={"gate_digest": gate.digest, "settings": gate.settings.document()}
    )


def test_a_better_model_is_accepted_also_where_only_both_sides_together_show_it() -> None:
    alone = simulate(DEFAULT, gain=0.1, loss=-0.1, replicates=1000, seed=11)
    model = simulate(DEFAULT, gain=0.1, loss=-0.1, replicates=1000, seed=11, kind="model")
    assert model.accept.rate >= alone.accept.rate + 0.1
    harmful = simulate(DEFAULT, gain=0.2, loss=0.2, replicates=1000, seed=11, kind="model")
    assert harmful.accept.rate <= 0.01


def test_the_papers_gate_is_as_loose_as_it_is_said_to_be() -> None:
    assert 0.22 <= rates(PaperGate(), 0.0).accept.rate <= 0.28
    assert 0.50 <= rates(PaperGate(), 0.2).accept.rate <= 0.58


def test_equal_seeds_give_equal_rates_and_the_shares_add_up() -> None:
    first = simulate(DEFAULT, gain=0.1, replicates=500, seed=2)
    assert first == simulate(DEFAULT, gain=0.1, replicates=500, seed=2)
    assert first != simulate(DEFAULT, gain=0.1, replicates=500, seed=3)
    total = first.accept.rate + first.reject.rate + first.indecisive.rate
    assert total == pytest.approx(1.0)
    assert first.accept.low <= first.accept.rate <= first.accept.high
    assert first.mean_rollouts_low < first.mean_rollouts < first.mean_rollouts_high
    assert first.mean_rollouts == pytest.approx(2 * (first.mean_pairs_in + first.mean_pairs_out))


def test_screening_is_paid_for_on_held_in_only() -> None:
    plain = simulate(DEFAULT, gain=0.2, replicates=500, seed=2)
    screened = simulate(DEFAULT, gain=0.2, replicates=500, seed=2, regime=Independent(shown=0.25))
    assert screened.accept == plain.accept
    assert screened.mean_rollouts == pytest.approx(plain.mean_rollouts + 4 * plain.mean_pairs_in)


def test_a_rollout_limit_is_kept_and_costs_power_only() -> None:
    free = simulate(DEFAULT, gain=0.2, replicates=1000, seed=2)
    capped = simulate(DEFAULT, gain=0.2, replicates=1000, seed=2, rollout_limit=300)
    assert capped.max_rollouts <= 300
    assert capped.accept.rate < free.accept.rate
    null = simulate(DEFAULT, gain=0.0, replicates=4000, seed=2, rollout_limit=300)
    assert null.accept.rate <= 0.05
    nothing = simulate(DEFAULT, gain=0.4, replicates=100, seed=2, rollout_limit=100)
    assert nothing.indecisive.rate == 1.0
    # a side that cannot come to a first look is not begun, as in a trial
    assert nothing.max_rollouts == 0
    least = simulate(DEFAULT, gain=0.4, replicates=100, seed=2, rollout_limit=200)
    assert least.max_rollouts == 200
    assert least.accept.rate > 0


def test_senseless_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="replicates must be 1 or more"):
        simulate(DEFAULT, gain=0.2, replicates=0)
