"""What is recovered of a pattern: its support, both figures, and why there may be none."""

import random
from collections.abc import Callable, Iterable
from math import isnan
from statistics import fmean, stdev
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evener.distill.detectors import Sighting
from evener.distill.recovery.rate import points, recovery
from evener.distill.recovery.sighted import Sighted
from evener.distill.recovery.support import support
from evener.protocols.interval import wilson
from evener.protocols.summary import Recovery, RecoveryMeans


def arm(
    shows: Iterable[bool | None], *, applies: Callable[[int], bool] = lambda at: True
) -> tuple[Sighting, ...]:
    """One episode a task, named by its place; None for a task that has no episode."""
    return tuple(
        Sighting(f"t{at:03d}", show and applies(at), applies(at))
        for at, show in enumerate(shows)
        if show is not None
    )


def chosen(tasks: int, of: int = 40) -> Any:
    """Replicate A with the first `tasks` of `of` tasks as the support."""
    return {
        "chosen_base": arm([False] * of),
        "chosen_optimized": arm([at < tasks for at in range(of)]),
    }


def some(shown: int, of: int = 40) -> tuple[Sighting, ...]:
    """The first `shown` tasks show it."""
    return arm([at < shown for at in range(of)])


def one(seen: Sighted) -> Recovery:
    (line,), _ = recovery([seen], seed=0)
    return line


def test_the_support_is_where_only_the_optimized_harness_shows_it() -> None:
    base = arm([False, True, False, True, None, False])
    dressed = arm([True, True, False, False, True, None])
    assert support(base, dressed) == ("t000",)


def test_a_task_without_the_occasion_under_the_base_is_no_support() -> None:
    base = arm([False] * 4, applies=lambda at: at != 1)
    assert support(base, arm([True] * 4)) == ("t000", "t002", "t003")


def test_two_episodes_of_a_task_in_replicate_a_are_refused() -> None:
    with pytest.raises(ValueError, match="two episodes of the task t000"):
        support(arm([False]) * 2, arm([True]))


def test_both_figures_of_a_pattern_by_hand() -> None:
    # the support is 20 tasks; on it base shows 4, h* 16, the student 13, the control 6
    seen = Sighted(
        pattern="looked_up_first",
        part="tools[quote].steps",
        **chosen(20),
        base=some(4),
        optimized=some(16),
        distilled=some(13),
        control=some(6),
    )
    line = one(seen)
    assert (line.support, line.coverage, line.group) == (20, 1.0, "looked_up_first")
    assert (line.base, line.with_harness, line.distilled) == (0.2, 0.8, 0.65)
    assert line.control == 0.3
    assert (line.paper, line.paper_low, line.paper_high) == wilson(13, 20)[:3]
    assert line.recovered == pytest.approx(0.75)
    assert line.low is not None
    assert line.high is not None
    assert line.low < 0.75 < line.high
    assert points(seen) == (line.paper, line.recovered)
    _, means = recovery([seen], seed=0)
    assert (means.paper.patterns, means.paper.value) == (1, 0.65)
    assert means.recovered.patterns == 1
    assert means.recovered.value == pytest.approx(0.75)
    assert means.control_paper.value == 0.3
    assert means.control_recovered.value == pytest.approx(0.1 / 0.6)
    assert (means.tasks, means.conditional) == (20, 0)


def test_a_mean_of_ratios_leaves_out_where_the_harness_does_nothing_for_the_control_too() -> None:
    clear = Sighted(
        pattern="a",
        **chosen(20),
        base=some(4),
        optimized=some(16),
        distilled=some(13),
        control=some(6),
    )
    nothing = Sighted(
        pattern="b",
        **chosen(12),
        base=some(6),
        optimized=some(7),
        distilled=some(8),
        control=some(12),
    )
    _, means = recovery([clear, nothing], seed=0)
    assert means.control_paper.patterns == 2
    assert (means.recovered.patterns, means.control_recovered.patterns) == (1, 1)
    assert means.control_recovered.value == pytest.approx(0.1 / 0.6)


def test_tasks_outside_the_support_change_nothing() -> None:
    inside = Sighted(
        pattern="p", **chosen(20), base=some(4), optimized=some(16), distilled=some(13)
    )
    shown = [at < 13 or at >= 20 for at in range(40)]
    outside = Sighted(
        pattern="p", **chosen(20), base=some(4), optimized=some(16), distilled=arm(shown)
    )
    assert one(inside) == one(outside)


def test_conditional_rates_are_of_the_episodes_with_the_occasion() -> None:
    # half of the student's episodes hold no well-formed call; of the others it shows 5 of 10
    seen = Sighted(
        pattern="operator_named",
        conditional=True,
        **chosen(20),
        base=some(0),
        optimized=some(20),
        distilled=arm([at < 5 for at in range(40)], applies=lambda at: at < 10),
    )
    line = one(seen)
    assert line.conditional
    assert line.distilled == 0.5
    assert line.recovered == 0.5
    assert line.paper == 0.25


def test_a_student_without_a_well_formed_call_has_no_corrected_figure() -> None:
    silent = arm([False] * 40, applies=lambda at: False)
    line = one(
        Sighted(pattern="p", **chosen(20), base=some(2), optimized=some(18), distilled=silent)
    )
    assert (line.distilled, line.recovered, line.paper) == (None, None, 0.0)
    assert line.note == "distilled + h never has the occasion in replicate B"


def test_a_task_that_an_arm_lacks_is_left_out_of_the_corrected_figure_and_counted() -> None:
    lost = tuple(seen for seen in some(16) if seen.task not in {"t000", "t001", "t002"})
    line = one(Sighted(pattern="p", **chosen(20), base=some(4), optimized=lost, distilled=some(10)))
    assert line.coverage == 17 / 20
    assert (line.base, line.with_harness, line.distilled) == (1 / 17, 13 / 17, 7 / 17)
    assert line.paper == 0.5
    assert line.note == "17 of 20 tasks were run in all arms"


@pytest.mark.parametrize(
    ("base", "dressed", "said"),
    [
        ([True] * 40, [True] * 40, "base + h shows it already wherever base + h* does"),
        ([False] * 40, [False] * 40, "base + h* never shows it"),
        ([False] * 40, [True] * 9 + [False] * 31, "support 9 is under 10"),
        ([], [], "replicate A has no episode"),
        ([True] + [None] * 39, [None, *[True] * 39], "replicate A has no task in both arms"),
    ],
    ids=["all solved", "never", "few", "nothing", "apart"],
)
def test_a_support_that_is_too_small_is_listed_with_the_reason(
    base: list[bool | None], dressed: list[bool | None], said: str
) -> None:
    seen = Sighted(
        pattern="p",
        chosen_base=arm(base),
        chosen_optimized=arm(dressed),
        base=some(4),
        optimized=some(16),
        distilled=some(13),
    )
    (line,), means = recovery([seen], seed=0)
    assert line.note.startswith(said)
    assert (line.paper, line.recovered, line.group) == (None, None, "")
    assert means.paper.value is None
    assert means.note.startswith("no pattern has a support of 10")


def test_a_base_that_makes_no_call_gives_no_support_and_says_so() -> None:
    seen = Sighted(
        pattern="p",
        chosen_base=arm([False] * 40, applies=lambda at: False),
        chosen_optimized=some(40),
        base=some(0),
        optimized=some(40),
        distilled=some(40),
    )
    assert one(seen).note == "base + h has no occasion for it where base + h* shows it"


@pytest.mark.parametrize(("base", "dressed"), [(8, 8), (9, 4), (9, 10)])
def test_a_harness_that_does_nothing_in_replicate_b_is_never_divided_by(
    base: int, dressed: int
) -> None:
    seen = Sighted(
        pattern="p", **chosen(20), base=some(base), optimized=some(dressed), distilled=some(15)
    )
    (line,), means = recovery([seen], seed=0)
    assert line.note.startswith("h* does nothing clear of 0 in replicate B")
    assert (line.recovered, line.paper) == (None, 0.75)
    assert (means.recovered.patterns, means.recovered.value) == (0, None)
    assert means.paper.patterns == 1


def test_greedy_replicates_that_repeat_each_other_make_both_figures_one() -> None:
    line = one(
        Sighted(pattern="p", **chosen(20), base=some(0), optimized=some(20), distilled=some(13))
    )
    assert line.recovered == line.paper == 0.65
    whole = one(
        Sighted(pattern="p", **chosen(20), base=some(0), optimized=some(20), distilled=some(20))
    )
    assert whole.recovered == 1.0
    assert whole.low == pytest.approx(wilson(20, 20).low)  # all alike is no certainty


def test_a_mean_that_is_alike_on_every_task_has_bounds_and_lies_in_them() -> None:
    # every task twice: under h* one of two shows it, of the distilled student both
    seen = Sighted(
        pattern="p",
        **chosen(20),
        base=some(0) + some(0),
        optimized=some(20) + some(0),
        distilled=some(20) + some(20),
    )
    _, means = recovery([seen], seed=0)
    found = means.recovered
    assert (found.value, found.high) == (2.0, 2.0)
    assert found.low == pytest.approx(wilson(20, 20).low)


def test_patterns_whose_supports_overlap_count_once() -> None:
    def seen(name: str, tasks: int) -> Sighted:
        return Sighted(
            pattern=name, **chosen(tasks), base=some(0), optimized=some(40), distilled=some(10)
        )

    lines, means = recovery([seen("a", 20), seen("b", 18), seen("c", 12), seen("d", 15)], seed=0)
    # b and a share 18 of 20; d shares 15 of 20 with a, 12 of 15 with c: 0.8 is not over 0.8
    assert [line.group for line in lines] == ["a", "a", "c", "d"]
    assert means.paper.patterns == 3
    assert means.paper.value == pytest.approx((10 / 20 + 10 / 12 + 10 / 15) / 3)
    assert lines[1].paper == pytest.approx(10 / 18)


def test_several_episodes_of_a_task_do_not_count_as_independent() -> None:
    def times(count: int) -> Recovery:
        return one(
            Sighted(
                pattern="p",
                **chosen(20),
                base=some(4) * count,
                optimized=some(16) * count,
                distilled=some(10) * count,
            )
        )

    once, often = times(1), times(9)
    assert (often.paper, often.recovered) == (once.paper, once.recovered)
    assert (often.low, often.high) == (once.low, once.high)
    assert often.paper_low is not None
    assert often.paper_high is not None
    assert often.paper_high - often.paper_low > 0.3


def test_two_patterns_of_one_name_are_refused() -> None:
    seen = Sighted(pattern="p", **chosen(20), base=some(0), optimized=some(1), distilled=some(1))
    with pytest.raises(ValueError, match="one name"):
        recovery([seen, seen], seed=0)


def test_a_seed_gives_the_same_bounds_again() -> None:
    seen = Sighted(pattern="p", **chosen(20), base=some(4), optimized=some(16), distilled=some(13))
    assert recovery([seen], seed=3) == recovery([seen], seed=3)
    lines, means = recovery([seen], seed=3)
    assert RecoveryMeans.model_validate_json(means.model_dump_json()) == means
    assert Recovery.model_validate_json(lines[0].model_dump_json()) == lines[0]


def world(draw: random.Random, tasks: int, *, learned: float) -> Sighted:
    """Tasks where base + h shows the pattern with a chance of Beta(1, 3), base + h* with one of
    Beta(3, 1), and the student lies `learned` of the way between."""
    rows: list[list[bool]] = []
    for _ in range(tasks):
        p, q = draw.betavariate(1, 3), draw.betavariate(3, 1)
        chances = (p, q, p, q, p + learned * (q - p))
        rows.append([draw.random() < chance for chance in chances])
    a0, a1, b0, b1, student = (arm(column) for column in zip(*rows, strict=True))
    return Sighted(
        pattern="p", chosen_base=a0, chosen_optimized=a1, base=b0, optimized=b1, distilled=student
    )


@pytest.mark.parametrize(
    ("learned", "paper"), [(0.0, 0.2), (0.5, 0.5), (1.0, 0.8)], ids=["nothing", "half", "all"]
)
def test_the_corrected_figure_is_what_was_learned_and_the_papers_is_not(
    learned: float, paper: float
) -> None:
    """A student that learned nothing shows a fifth of the support all the same: E[p | not shown
    once] of Beta(1, 3) is 1/5. One that learned all of it shows E[q | shown once] = 4/5."""
    draw = random.Random(20260)
    found = [points(world(draw, 200, learned=learned)) for _ in range(150)]
    for values, true in zip(zip(*found, strict=True), (paper, learned), strict=True):
        error = stdev(values) / len(values) ** 0.5
        assert error < 0.02
        assert abs(fmean(values) - true) < 3 * error + 0.005


def test_the_bounds_seldom_miss_the_truth() -> None:
    draw = random.Random(7)
    held = [
        line.low <= 0.5 <= line.high
        for line in (one(world(draw, 40, learned=0.5)) for _ in range(40))
        if line.low is not None and line.high is not None
    ]
    assert len(held) > 30
    assert sum(held) / len(held) >= 0.88


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 25), st.floats(0, 1))
def test_no_world_divides_by_nothing_or_leaves_its_bounds(
    seed: int, tasks: int, learned: float
) -> None:
    draw = random.Random(seed)
    seen = (
        world(draw, tasks, learned=learned)
        if tasks
        else Sighted(
            pattern="p", chosen_base=(), chosen_optimized=(), base=(), optimized=(), distilled=()
        )
    )
    line = one(seen)
    assert (line.recovered is None) == (line.note != "" and line.low is None)
    if line.recovered is not None:
        assert line.low is not None
        assert line.high is not None
        assert line.low <= line.recovered <= line.high
        assert not isnan(line.recovered)
    assert line.support >= 10 or line.paper is None
