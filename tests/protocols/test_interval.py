"""Intervals against scipy, published figures and the definitions they rest on."""

import math
import random
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binomtest

from evener.protocols.interval import (
    Moments,
    bootstrap,
    paired,
    quantile,
    tango,
    wilson,
)

counts = st.integers(1, 60).flatmap(
    lambda n: st.tuples(st.integers(0, n), st.integers(0, n), st.just(n))
)
tables = counts.filter(lambda c: c[0] + c[1] <= c[2])


@given(counts)
def test_wilson_is_scipys(found: tuple[int, int, int]) -> None:
    k, _, n = found
    theirs = binomtest(k, n).proportion_ci(0.95, method="wilson")
    ours = wilson(k, n)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert (ours.value, ours.n) == (k / n, n)
    assert 0 <= ours.low <= ours.value <= ours.high <= 1


def test_wilson_without_observations_knows_nothing() -> None:
    assert wilson(0, 0) == (0.5, 0.0, 1.0, 0)


@pytest.mark.parametrize(
    ("gained", "lost", "n", "low", "high"),
    [
        # Fagerland, Lydersen & Laake 2014, Statistics in Medicine 33:2850, airway
        # hyper-responsiveness before and after stem cell transplantation
        (1, 7, 21, -0.517, -0.026),
        # nothing differs: the score test turns at ± z² / (n + z²)
        (0, 0, 30, -0.114, 0.114),
    ],
)
def test_tango_gives_the_published_figures(
    gained: int, lost: int, n: int, low: float, high: float
) -> None:
    found = tango(gained, lost, n)
    assert (found.low, found.high) == pytest.approx((low, high), abs=6e-4)


def score(gained: int, lost: int, n: int, delta: float) -> float:
    """The score statistic with the nuisance parameter found numerically, not by formula."""
    same = n - gained - lost

    def minus_log_likelihood(q: float) -> float:
        parts = [(gained, q + delta), (lost, q), (same, 1 - 2 * q - delta)]
        return -sum(k * math.log(max(p, 1e-300)) for k, p in parts if k)

    low, high = max(0.0, -delta), (1 - delta) / 2
    q = float(minimize_scalar(minus_log_likelihood, bounds=(low, high), method="bounded").x)
    return (gained - lost - n * delta) / math.sqrt(n * (2 * q + delta - delta * delta))


@settings(max_examples=30, deadline=None)
@given(tables)
def test_tangos_bounds_are_where_the_score_test_turns(table: tuple[int, int, int]) -> None:
    gained, lost, n = table
    found = tango(gained, lost, n)
    for bound in (found.low, found.high):
        if -0.999 < bound < 0.999:
            assert abs(score(gained, lost, n, bound)) == pytest.approx(1.96, abs=0.02)


@given(tables)
def test_tango_mirrors_and_holds_its_value(table: tuple[int, int, int]) -> None:
    gained, lost, n = table
    found, mirrored = tango(gained, lost, n), tango(lost, gained, n)
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert found.low == pytest.approx(-mirrored.high, abs=1e-9)
    assert found.high == pytest.approx(-mirrored.low, abs=1e-9)
    assert found.high - found.low > 0


def test_tango_agrees_with_mcnemars_score_test_on_which_side_zero_lies() -> None:
    # (b − c)² / (b + c) against 3.84
    assert tango(13, 4, 40).low > 0
    assert tango(12, 5, 40).low < 0


def test_no_pairs_leave_everything_open() -> None:
    assert tango(0, 0, 0) == (0.0, -1.0, 1.0, 0)
    assert paired([], seed=0) == (0.0, -1.0, 1.0, 0)


def test_a_bootstrap_is_a_function_of_its_seed() -> None:
    units = [0.1, 0.5, -0.3, 0.9, 0.2]

    def mean(values: object) -> float:
        assert isinstance(values, list)
        return sum(values) / len(values)

    first = bootstrap(units, mean, seed=1)
    assert first == bootstrap(units, mean, seed=1)
    assert first != bootstrap(units, mean, seed=2)
    assert first.low <= first.value <= first.high
    assert first.value == pytest.approx(0.28)


def test_a_bootstrap_leaves_out_resamples_without_a_value() -> None:
    units = [(0.0, 0.0), (1.0, 2.0), (1.0, 4.0)]

    def ratio(drawn: object) -> float:
        assert isinstance(drawn, list)
        below = sum(b for _, b in drawn)
        return sum(a for a, _ in drawn) / below if below else math.nan

    found = bootstrap(units, ratio, seed=0)
    assert 0.25 <= found.low < found.high <= 0.5
    with pytest.raises(ValueError, match="none of 2000 resamples"):
        bootstrap([(0.0, 0.0)], ratio, seed=0)


def test_a_bootstrap_covers_the_mean_of_clustered_differences() -> None:
    draw = random.Random(5)
    hits = 0
    for trial in range(60):
        tasks: list[list[float]] = []
        for _ in range(40):
            shared = draw.gauss(0.1, 0.3)
            tasks.append([shared + draw.gauss(0, 0.1) for _ in range(3)])
        found = paired(tasks, seed=trial)
        hits += found.low <= 0.1 <= found.high
    assert 52 <= hits <= 60


def test_repeats_of_a_task_do_not_narrow_its_interval() -> None:
    tasks = [[1.0]] * 8 + [[0.0]] * 12 + [[-1.0]] * 4
    once, thrice = paired(tasks, seed=0), paired([task * 3 for task in tasks], seed=0)
    assert thrice.n == 3 * once.n
    assert thrice.value == once.value
    assert thrice.high - thrice.low > 0.85 * (once.high - once.low)


def test_single_binary_pairs_get_tangos_interval_and_graded_ones_a_bootstrap() -> None:
    binary = [[1.0]] * 5 + [[0.0]] * 10 + [[-1.0]]
    assert paired(binary, seed=0) == tango(5, 1, 16)
    graded = [[0.5]] * 5 + [[0.0]] * 10 + [[-1.0]]
    found = paired(graded, seed=0)
    # a resample's mean is a whole number of halves over 16
    assert (found.low * 32, found.high * 32) == (round(found.low * 32), round(found.high * 32))
    assert found.low < 0 < found.value < found.high


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_tasks_that_are_all_alike_still_leave_room(value: float) -> None:
    found = paired([[value, value]] * 10, seed=0)
    assert found.value == pytest.approx(value)
    assert found.low < value
    assert found.high - found.low > 0.05
    assert found.high <= 1


def test_the_adjusted_estimate_is_bonett_and_prices() -> None:
    gained, lost, n = 9, 3, 40
    mean, error = Moments.of([[1.0]] * 9 + [[-1.0]] * 3 + [[0.0]] * 28).estimate()
    up, down = (gained + 1) / (n + 2), (lost + 1) / (n + 2)
    assert mean == pytest.approx(up - down)
    assert error == pytest.approx(math.sqrt((up + down - (up - down) ** 2) / (n + 2)))


@given(st.lists(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), min_size=1, max_size=3)))
def test_moments_add_up_over_tasks(tasks: list[list[float]]) -> None:
    half = len(tasks) // 2
    assert Moments.of(tasks[:half]) + Moments.of(tasks[half:]) == Moments.of(tasks)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30))
def test_without_pseudo_pairs_the_error_is_that_of_a_mean(values: list[float]) -> None:
    mean, error = Moments.of([[value] for value in values]).estimate(pseudo=0)
    centre = sum(values) / len(values)
    assert mean == pytest.approx(centre, abs=1e-9)
    spread = math.sqrt(sum((v - centre) ** 2 for v in values)) / len(values)
    assert error == pytest.approx(spread, abs=1e-6)


def test_a_repeated_task_counts_as_one_in_the_error() -> None:
    _, once = Moments.of([[1.0], [-1.0], [0.0]]).estimate(pseudo=0)
    _, twice = Moments.of([[1.0] * 2, [-1.0] * 2, [0.0] * 2]).estimate(pseudo=0)
    assert twice == pytest.approx(once)


def test_no_pairs_have_no_estimate_and_no_error_without_pseudo_pairs() -> None:
    assert Moments().estimate(pseudo=0) == (0.0, 0.0)
    assert Moments().mean == 0.0


def test_the_quantile_is_the_normal_one() -> None:
    assert quantile(0.95) == pytest.approx(NormalDist().inv_cdf(0.975))


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_a_confidence_is_a_share(confidence: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        quantile(confidence)


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="5 successes in 4"):
        wilson(5, 4)
    with pytest.raises(ValueError, match="3 gained and 2 lost in 4 pairs"):
        tango(3, 2, 4)
    with pytest.raises(ValueError, match="at least one unit"):
        bootstrap([], len, seed=0)
