"""The error rates that the gates are chosen for, from the very code that rules over trials."""

import pytest

from evener.agents.gates.null import null_rate
from evener.agents.gates.paired import SCHEDULES, PairedGate
from evener.agents.gates.paper import PaperGate
from evener.agents.gates.plan import plan
from evener.agents.gates.simulate import GateRates, Regime, simulate
from evener.protocols.verdict import Pair

DEFAULT, SMALL = PairedGate(SCHEDULES["default"]), PairedGate(SCHEDULES["small"])
N = 8000
# Monte-Carlo error of a rate of 0.05 with N replicates is 0.0024: the true rates (20,000
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
        regime=Regime(held_out=held_out),
        kind="model",
    )
    assert found.accept.rate <= 0.055


def test_a_simplification_that_loses_ten_points_is_seldom_accepted() -> None:
    regime = Regime(saved=20.0)
    for gain, loss in ((-0.1, 0.0), (0.0, 0.1)):
        found = simulate(
            DEFAULT, gain=gain, loss=loss, replicates=2000, seed=11, regime=regime, kind="simplify"
        )
        assert found.accept.rate <= 0.12
    harmless = simulate(DEFAULT, gain=0.0, replicates=2000, seed=11, regime=regime, kind="simplify")
    assert harmless.accept.rate >= 0.55


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
    screened = simulate(DEFAULT, gain=0.2, replicates=500, seed=2, regime=Regime(shown=0.25))
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


def test_a_plan_names_the_smallest_gain_that_is_seen_and_its_price() -> None:
    found = plan(DEFAULT, gains=(0.4, 0.1, 0.2), replicates=1000, seconds_per_rollout=0.5)
    assert [row.gain for row in found.rows] == [0.1, 0.2, 0.4]
    assert found.smallest == 0.2
    assert found.rollouts == found.rows[1].mean_rollouts
    assert found.seconds == found.rollouts / 2
    assert (found.tasks_in, found.tasks_out) == (120, 170)


def test_a_plan_says_when_no_gain_is_seen() -> None:
    found = plan(DEFAULT, gains=(0.0, 0.05), replicates=500, regime=Regime(shown=0.5))
    assert found.smallest is None
    assert found.tasks_in == 240
    assert found.seconds is None
    with pytest.raises(ValueError, match="at least one gain"):
        plan(DEFAULT, gains=())
    with pytest.raises(ValueError, match="between 0 and 1"):
        plan(DEFAULT, power=75)


def test_sign_flips_give_the_null_rate_on_stored_pairs() -> None:
    held_in = [
        Pair(task=f"i{at}", before=float(at % 3 == 0), after=float(at % 3 != 0))
        for at in range(120)
    ]
    held_out = [Pair(task=f"o{at}", before=1.0, after=1.0) for at in range(170)]
    assert DEFAULT.decide(held_in, held_out, kind="improve").ruling == "ACCEPT"
    found = null_rate(DEFAULT, held_in, held_out, flips=400, seed=1)
    assert 0.0 < found.accept <= 0.1
    assert found == null_rate(DEFAULT, held_in, held_out, flips=400, seed=1)
    assert (found.pairs_in, found.pairs_out) == (120, 170)


def test_repeats_of_a_task_are_flipped_together() -> None:
    always = [Pair(task="one", before=0.0, after=1.0)] * 30
    # 30 equal differences of one task are 30 gains or 30 losses, never a mixture
    paper = PaperGate()
    found = null_rate(paper, always, [Pair(task="o", before=1.0, after=1.0)] * 30, flips=200)
    assert 0.4 <= found.accept <= 0.6


def test_senseless_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="replicates must be 1 or more"):
        simulate(DEFAULT, gain=0.2, replicates=0)
    with pytest.raises(ValueError, match="flips must be 1 or more"):
        null_rate(DEFAULT, [], [], flips=0)
