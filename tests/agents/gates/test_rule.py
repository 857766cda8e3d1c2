"""One look: bars are to be cleared, not touched."""

import pytest

from evener.agents.gates.rule import State, above, cheaper, points, student, walk
from evener.agents.gates.sample import PairSample, delta
from evener.protocols.interval import Moments, tango
from evener.protocols.verdict import Pair

MOMENTS = Moments.of([[1.0]] * 6 + [[0.0]] * 12)
MEAN, _ = MOMENTS.estimate()


def look(bar: float, floor: float) -> State:
    """At z = 0 both bounds are the mean."""
    return above("held_in", MOMENTS, 0.0, bar=bar, floor=floor, z_reject=0.0)[0]


def test_a_bound_that_only_touches_its_bar_settles_nothing() -> None:
    assert look(MEAN - 1e-9, -1) is State.MET
    assert look(MEAN, -1) is State.OPEN
    assert look(MEAN, MEAN) is State.OPEN
    assert look(MEAN, MEAN + 1e-9) is State.FAILED


def test_an_accept_goes_before_a_refusal() -> None:
    assert look(MEAN - 0.1, MEAN + 0.1) is State.MET


@pytest.mark.parametrize(
    ("differences", "state"),
    [
        ([-5.0, -6.0, -5.0], State.MET),
        ([-5.0, 5.0, -1.0], State.OPEN),
        ([0.0, 0.0], State.FAILED),
        ([5.0, 6.0], State.FAILED),
    ],
)
def test_cheaper_means_clearly_fewer_tokens(differences: list[float], state: State) -> None:
    assert cheaper(Moments.of([[d] for d in differences]), 1.645)[0] is state


@pytest.mark.parametrize("z", [1.3, 1.6, 2.0, 2.5])
@pytest.mark.parametrize("tasks", [6, 10, 30])
def test_repeated_tasks_widen_a_bound_to_students_t(z: float, tasks: int) -> None:
    from scipy.stats import norm, t

    repeated = Moments.of([[1.0, 0.0]] * tasks)
    found = student(z, repeated)
    assert found == pytest.approx(t.isf(norm.sf(z), tasks - 1), rel=0.01)
    assert student(z, Moments.of([[1.0]] * tasks)) == z
    # a single task tells next to nothing, but is no division by zero
    assert student(z, Moments.of([[1.0] * 30])) > 2 * z


def test_unequal_repeats_count_as_fewer_tasks() -> None:
    uneven = Moments.of([[0.0] * 10, *[[0.0]] * 10])
    even = Moments.of([[0.0] * 2] * 10)
    assert student(2.0, uneven) > student(2.0, even)


def test_both_bounds_and_the_cost_know_of_few_tasks() -> None:
    one = Moments.of([[1.0]] * 24 + [[0.0]] * 24)
    few = Moments(one.n, one.total, one.squares, one.cross, 3 * one.sizes)
    mean, error = few.estimate()
    z, v = student(2.0, few), 48 / 3 - 1
    assert z == pytest.approx(2.0 + 10 / (4 * v) + 294 / (96 * v**2) + 1098 / (384 * v**3))
    bar = mean - 2.0 * error - 1e-9
    assert above("held_in", one, 2.0, bar=0, floor=-1, z_reject=2.0)[0] is State.MET
    assert above("held_in", few, 2.0, bar=bar, floor=-1, z_reject=2.0)[0] is State.OPEN
    floor = mean + 2.0 * error + 1e-9
    assert above("held_in", few, 2.0, bar=bar, floor=floor, z_reject=2.0)[0] is State.OPEN
    saving = Moments.of([[-4.0, -4.0], [-1.0, -1.0], [1.0, 1.0], [-4.0, -4.0]])
    mean, error = saving.estimate(pseudo=0)
    assert mean + 1.645 * error < 0
    assert cheaper(saving, 1.645)[0] is State.OPEN


def test_a_walk_stops_at_the_first_look_that_settles() -> None:
    sample = PairSample([Pair(task=str(at), before=0.0, after=0.0) for at in range(50)])
    seen: list[tuple[int, float]] = []

    def judge(n: int, z: float) -> tuple[State, str]:
        seen.append((n, z))
        return (State.MET if n == 20 else State.OPEN), str(n)

    found = walk(sample, ((10, 3.0), (20, 2.0), (40, 1.0)), judge, exhausted=False)
    assert seen == [(10, 3.0), (20, 2.0)]
    assert (found.state, found.n, found.want, found.reason) == (State.MET, 20, 0, "20")


def test_points_are_signed() -> None:
    assert [points(value) for value in (0.125, -0.1, 0.0)] == ["+12.5", "-10.0", "+0.0"]


def test_a_sample_knows_prefixes_of_rewards_and_tokens() -> None:
    sample = PairSample(
        [
            Pair(task="a", before=0.0, after=1.0, cost_before=9.0, cost_after=4.0),
            Pair(task="b", before=1.0, after=0.5, cost_before=1.0, cost_after=2.0),
            Pair(task="a", before=0.0, after=1.0, cost_before=9.0, cost_after=4.0),
        ]
    )
    assert sample.size == 3
    assert sample.reward(2) == Moments.of([[1.0], [-0.5]])
    assert sample.reward(3) == Moments.of([[1.0, 1.0], [-0.5]])
    assert sample.cost(3) == Moments.of([[-5.0, -5.0], [1.0]])


def test_a_delta_has_the_interval_of_its_pairs_and_is_none_without_any() -> None:
    found = delta([Pair(task=str(at), before=0.0, after=float(at < 4)) for at in range(10)], seed=1)
    assert found is not None
    assert (found.value, found.low, found.high, found.n) == tango(4, 0, 10)
    assert delta([], seed=1) is None
