"""The paper's order: claimed only where intervals are clear of 0."""

import pytest

from evener.bench.sources.order import order_of, spearman
from evener.bench.sources.result import SourceLine
from evener.protocols.summary import Cell, Comparison

LABELS = {"gold": "the teacher", "review_empty": "empty K", "review_k": "K"}


def cell(rate: float, name: str = "x") -> Cell:
    return Cell(
        name=name,
        model="m",
        harness="h",
        split="test",
        n=100,
        solved=round(rate * 100),
        rate=rate,
        low=rate,
        high=rate,
        coverage=1.0,
        tool_error_rate=0.0,
        calls=1,
        tokens=1,
        cpu_seconds=0.0,
        seed=0,
    )


def line(source: str, collected: float, score: float | None) -> SourceLine:
    return SourceLine(
        source=source,
        label=LABELS[source],
        collected=cell(collected),
        score=None if score is None else cell(score),
    )


def against(other: str, low: float, high: float) -> Comparison:
    return Comparison(
        a="review_k+target",
        b=f"{other}+target",
        split="test",
        difference=(low + high) / 2,
        low=low,
        high=high,
        n=100,
    )


LINES = (line("gold", 0.98, 0.15), line("review_empty", 0.4, 0.2), line("review_k", 0.6, 0.3))


def test_the_order_holds_where_k_is_ahead_of_every_other_student() -> None:
    found = order_of(
        LINES, [against("gold", 0.05, 0.25), against("review_empty", 0.02, 0.2)], labels=LABELS
    )
    assert found.holds == "yes"
    assert found.sentence.startswith("The paper's order holds here")
    assert "not as the scores do" in found.sentence
    assert found.same_order is False
    assert found.by_collection == ("gold", "review_k", "review_empty")
    assert found.by_score == ("review_k", "review_empty", "gold")
    assert found.correlation == pytest.approx(-0.5)


def test_an_interval_that_holds_0_is_not_told_apart_and_the_order_is_not_shown() -> None:
    found = order_of(
        LINES, [against("gold", 0.05, 0.25), against("review_empty", -0.01, 0.2)], labels=LABELS
    )
    assert found.holds == "not shown"
    assert "ahead of the teacher; not told apart from empty K" in found.sentence
    touching = [against("gold", 0.05, 0.25), against("review_empty", 0.0, 0.2)]
    assert order_of(LINES, touching, labels=LABELS).holds == "not shown"


def test_an_order_that_lacks_students_is_not_shown_and_says_whose() -> None:
    lines = [*LINES[1:], line("gold", 0.98, None)]
    found = order_of(lines, [against("review_empty", 0.02, 0.2)], labels=LABELS)
    assert found.holds == "not shown"
    assert "K is ahead of empty K. No student: the teacher." in found.sentence
    few = order_of(lines[1:], [against("review_empty", 0.02, 0.2)], labels=LABELS)
    assert "only 1 of 2 sources have both figures" in few.sentence


def test_one_source_clearly_ahead_of_k_means_that_the_order_does_not_hold() -> None:
    found = order_of(LINES, [against("gold", -0.25, -0.05)], labels=LABELS)
    assert found.holds == "no"
    assert "does not hold here" in found.sentence
    assert "behind the teacher" in found.sentence


def test_without_a_student_of_k_or_of_any_other_source_nothing_is_claimed() -> None:
    alone = order_of([line("review_k", 0.6, 0.3)], [], labels=LABELS)
    assert (alone.holds, alone.correlation, alone.ranked) == ("not asked", None, 1)
    none = order_of([line("gold", 0.98, 0.15), line("review_k", 0.6, None)], [], labels=LABELS)
    assert none.holds == "not asked"
    assert "no student" in none.sentence


def test_ties_share_a_rank_and_a_column_of_ties_has_no_correlation() -> None:
    # ranks 2.5, 1, 2.5 against 3, 1, 2
    tied_pair = spearman([0.5, 0.1, 0.5], [9, 1, 4])
    assert tied_pair is not None
    assert tied_pair[0] == pytest.approx(1.5 / 3**0.5)
    assert spearman([1, 1, 1], [1, 2, 3]) is None
    equal = [line("gold", 1.0, 0.5), line("review_k", 1.0, 0.5)]
    found = order_of(equal, [against("gold", -0.1, 0.1)], labels=LABELS)
    assert "cannot be said: one figure is the same for all 2 sources" in found.sentence
    assert (found.same_order, found.correlation, found.p) == (None, None, None)
    tied = [*equal, line("review_empty", 0.5, 0.2)]
    found = order_of(tied, [against("gold", -0.1, 0.1)], labels=LABELS)
    assert "by success the teacher = K > empty K" in found.sentence
    assert "orders the sources as the scores do" in found.sentence
    # a tie in one of the two is another order
    apart = [line("gold", 1.0, 0.5), line("review_k", 1.0, 0.4), line("review_empty", 0.5, 0.2)]
    assert order_of(apart, [against("gold", -0.1, 0.1)], labels=LABELS).same_order is False


def test_the_exact_p_is_over_all_orders() -> None:
    assert spearman([1, 2, 3], [1, 2, 3]) == pytest.approx((1, 2 / 6))
    assert spearman([1, 2, 3, 4], [1, 2, 3, 4]) == pytest.approx((1, 2 / 24))
    assert spearman([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx((-1, 2 / 24))
