"""The simulated tasks are what they are said to be, and the gates keep their word on all."""

from collections.abc import Sequence

import numpy as np
import pytest

from evener.agents.gates.drawn import Sums, draw_sides
from evener.agents.gates.paired import SCHEDULES, PairedGate
from evener.agents.gates.regime import (
    REGIMES,
    Correlated,
    Deterministic,
    Finite,
    Independent,
    Regime,
)
from evener.agents.gates.sample import Sample
from evener.agents.gates.simulate import GateRates, simulate
from evener.protocols.attribution import TrialKind
from evener.protocols.interval import Moments
from evener.protocols.verdict import Decision

DEFAULT, SMALL = PairedGate(SCHEDULES["default"]), PairedGate(SCHEDULES["small"])
POOL = Finite(tasks_in=60, tasks_out=60)
ALL: Sequence[Regime] = (Independent(), Deterministic(), Correlated(), POOL)


def outcomes(
    regime: Regime, shift: float = 0.0, *, passes: int = 1, tasks: int = 40_000
) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(4)
    before, after = regime.outcomes(draw, (2.0, 4.0), shift, (1, passes, tasks))
    assert before.shape == after.shape == (1, passes, tasks)
    return before[0], after[0]


@pytest.mark.parametrize("regime", ALL, ids=lambda regime: regime.name)
@pytest.mark.parametrize("shift", [0.2, 0.0, -0.15])
def test_the_mean_before_is_that_of_the_beta_and_moves_by_the_shift(
    regime: Regime, shift: float
) -> None:
    before, after = outcomes(regime, shift)
    assert before.mean() == pytest.approx(1 / 3, abs=0.01)
    # the three that move p lose what is cut off at 0
    slack = 0.03 if shift < 0 and not isinstance(regime, Deterministic) else 0.01
    assert after.mean() - before.mean() == pytest.approx(shift, abs=slack)


def test_correlated_arms_agree_more_often() -> None:
    share = {}
    for correlation in (0.0, 0.5, 1.0):
        before, after = outcomes(Correlated(correlation=correlation))
        share[correlation] = (before != after).mean()
    alone, drawn = outcomes(Independent())
    assert share[0.0] == pytest.approx((alone != drawn).mean(), abs=0.01)
    assert share[0.5] == pytest.approx(share[0.0] / 2, abs=0.01)
    assert share[1.0] == 0.0
    before, after = outcomes(Correlated(correlation=1.0), 0.2)
    assert not (before & ~after).any()


def test_at_temperature_0_a_task_has_one_outcome_and_a_no_op_changes_none() -> None:
    before, after = outcomes(Deterministic(), 0.1, passes=3, tasks=50)
    assert (before == before[0]).all()
    assert (after == after[0]).all()
    before, after = outcomes(Deterministic(redrawn=0.0))
    assert (before == after).all()
    before, after = outcomes(Deterministic(redrawn=0.0), 0.2)
    assert not (before & ~after).any()
    before, after = outcomes(Deterministic(redrawn=0.0), -0.2)
    assert not (~before & after).any()


def test_what_is_redrawn_at_temperature_0_wins_as_often_as_it_loses() -> None:
    before, after = outcomes(Deterministic(redrawn=1.0))
    won, lost = (~before & after).mean(), (before & ~after).mean()
    # E[p(1 − p)] of Beta(2, 4) is 8/42
    assert won == pytest.approx(8 / 42, abs=0.01)
    assert lost == pytest.approx(8 / 42, abs=0.01)


def test_more_tasks_cannot_be_flipped_than_there_are() -> None:
    assert outcomes(Deterministic(), 0.9)[1].all()
    assert not outcomes(Deterministic(), -0.9)[1].any()


def test_repeats_of_a_pool_keep_a_task_s_own_effect() -> None:
    def between(redrawn: float) -> float:
        regime = Finite(tasks_in=60, redrawn=redrawn)
        before, after = outcomes(regime, passes=2, tasks=20_000)
        first, second = after.astype(float) - before
        return float(np.corrcoef(first, second)[0, 1])

    assert between(0.0) == pytest.approx(0.0, abs=0.02)
    assert between(0.5) > 0.05
    assert between(1.0) > between(0.5)


def test_the_tasks_a_trial_can_use_are_those_that_show_the_failure() -> None:
    assert Independent().pools == (None, None)
    assert Independent(tasks_in=40, tasks_out=30, shown=0.25).pools == (10, 30)
    assert Independent(tasks_in=100, shown=0.29).pools == (29, None)
    assert (POOL.passes, Finite(tasks_in=9, repeats=0).passes) == (5, 1)
    assert [regime.passes for regime in ALL[:3]] == [1, 1, 1]


def test_sums_of_a_repeated_pool_are_those_of_its_pairs_by_task() -> None:
    regime = Finite(tasks_in=3, redrawn=1.0, repeats=2)
    draw = np.random.default_rng(9)
    (side,) = draw_sides(draw, regime, (2.0, 2.0), 0.0, pool=3, replicates=1, pairs=8, costed=False)
    assert side.most == 8
    again = np.random.default_rng(9)
    before, after = regime.outcomes(again, (2.0, 2.0), 0.0, (1, 3, 3))
    flat = (after[0].astype(float) - before[0]).reshape(-1)
    for n in range(9):
        tasks = [[float(d) for d in flat[at:n:3]] for at in range(min(3, n))]
        assert side.reward(n) == Moments.of(tasks)
    assert side.effect == side.reward(8)


def test_a_pool_without_repeats_ends_and_fewer_tasks_are_the_first_of_more() -> None:
    def side(pool: int | None) -> tuple[int, Moments]:
        draw = np.random.default_rng(2)
        (found,) = draw_sides(
            draw, Independent(), (2.0, 4.0), 0.1, pool=pool, replicates=1, pairs=30, costed=False
        )
        return found.most, found.reward(20)

    assert side(20) == (20, side(None)[1])
    assert side(90)[0] == side(None)[0] == 30
    assert side(0)[0] == 0
    assert Sums(*[np.zeros(0)] * 4).at(0) == Moments()


# `small` errs a little more where half of all pairs differ, as its table says
@pytest.mark.parametrize(
    ("gate", "bar"), [(DEFAULT, 0.05), (SMALL, 0.06)], ids=["default", "small"]
)
@pytest.mark.parametrize(
    "regime",
    [
        Deterministic(),
        Deterministic(redrawn=1.0),
        Correlated(),
        POOL,
        Finite(tasks_in=30, tasks_out=30, redrawn=1.0),
        Finite(tasks_in=8, tasks_out=200, redrawn=1.0),
        Independent(held_in=(4.0, 4.0), held_out=(18.0, 2.0)),
    ],
    ids=str,
)
def test_what_does_nothing_is_seldom_accepted_in_any_regime(
    gate: PairedGate, bar: float, regime: Regime
) -> None:
    assert simulate(gate, gain=0.0, replicates=2000, seed=1, regime=regime).accept.rate <= bar


def test_a_change_that_touches_nothing_is_never_accepted() -> None:
    for regime in (Deterministic(redrawn=0.0), Correlated(correlation=1.0)):
        kinds: tuple[TrialKind, ...] = ("improve", "confirm", "model")
        for kind in kinds:
            found = simulate(DEFAULT, gain=0.0, replicates=50, regime=regime, kind=kind)
            assert found.accept.rate == 0.0


def test_twenty_points_are_seen_in_every_regime() -> None:
    def rate(regime: Regime) -> float:
        return simulate(DEFAULT, gain=0.2, replicates=1500, seed=1, regime=regime).accept.rate

    assert rate(Deterministic()) >= 0.9
    assert rate(Correlated()) >= 0.85
    assert rate(POOL) >= 0.7


class Blind(PairedGate):
    """The same gate, to which every repeat is a task of its own."""

    def judge(
        self,
        held_in: Sample,
        held_out: Sample,
        *,
        kind: TrialKind,
        exhausted_in: bool = False,
        exhausted_out: bool = False,
    ) -> Decision:
        return super().judge(
            Unclustered(held_in),
            Unclustered(held_out),
            kind=kind,
            exhausted_in=exhausted_in,
            exhausted_out=exhausted_out,
        )


class Unclustered:
    """Rewards as if no task came twice and every second pair differed."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample

    @property
    def size(self) -> int:
        return self._sample.size

    def reward(self, n: int) -> Moments:
        total = self._sample.reward(n).total
        return Moments(n, total, n / 2, total, n)

    def cost(self, n: int) -> Moments:
        return self._sample.cost(n)


def test_without_clustering_a_small_pool_would_inflate_the_error() -> None:
    regime = Finite(
        held_in=(0.5, 0.5), held_out=(18.0, 2.0), tasks_in=8, tasks_out=200, redrawn=1.0, repeats=14
    )

    def null(gate: PairedGate) -> GateRates:
        return simulate(gate, gain=0.0, replicates=2000, seed=1, regime=regime)

    assert null(Blind()).accept.rate > 0.1
    assert null(DEFAULT).accept.rate <= 0.05


def test_few_tasks_often_repeated_do_not_inflate_the_error_of_the_small_schedule() -> None:
    regime = Finite(tasks_in=6, tasks_out=200, redrawn=1.0)
    assert simulate(SMALL, gain=0.0, replicates=4000, seed=1, regime=regime).accept.rate <= 0.055


def test_regimes_are_known_by_their_names_and_come_back_from_json() -> None:
    for name, regime in REGIMES.items():
        made = regime()
        assert made.name == name
        assert regime.model_validate_json(made.model_dump_json()) == made
    found = simulate(DEFAULT, gain=0.1, replicates=10, regime=POOL)
    assert GateRates.model_validate_json(found.model_dump_json()) == found
