"""avg@k, maj@k and votes: equal answers are one vote, and what has no score is left out."""

from collections.abc import Iterator
from math import isclose, sqrt

import pytest

from evener.environments.scoring import Checker, avg_at_k, candidates, maj_at_k, majority


@pytest.fixture(scope="module")
def checker() -> Iterator[Checker]:
    pytest.importorskip("math_verify", reason="the extra `math` is not installed")
    made = Checker()
    yield made
    made.close()


async def by_letter(one: str, other: str) -> bool:
    return one == other


async def test_equal_answers_are_one_vote_however_they_are_written(checker: Checker) -> None:
    answers = ["0.333", "\\frac{1}{\\sqrt{8}}", None, "\\frac{\\sqrt{2}}{4}", "0.333", "8^{-1/2}"]
    chosen = await majority(answers, checker.same)
    assert chosen is not None
    assert (chosen.answer, chosen.voters) == ("\\frac{1}{\\sqrt{8}}", (1, 3, 5))
    # by notation alone the wrong one has most votes
    by_notation = await majority(answers, by_letter)
    assert by_notation is not None
    assert by_notation.answer == "0.333"


async def test_among_equals_the_first_answer_wins_and_no_answer_is_no_vote() -> None:
    found = await candidates(["2", "1", None, "1", "2", None], by_letter)
    assert [(each.answer, each.voters) for each in found] == [("2", (0, 4)), ("1", (1, 3))]
    assert await majority([None, None], by_letter) is None


async def test_an_answer_that_nobody_can_rule_on_is_a_candidate_of_its_own(
    checker: Checker,
) -> None:
    found = await candidates(["9^{9^{9^{9}}}", "9^{9^{9^{9}}}", "2"], checker.same)
    assert [each.voters for each in found] == [(0, 1), (2,)]


def test_avg_is_over_problems_with_an_error_over_problems() -> None:
    figure = avg_at_k([[1, 0, 1, 0], [1, 1, 0, 0]])
    assert (figure.name, figure.value, figure.n, figure.k) == ("avg@2", 0.5, 4, 2)
    # the means are 1, ½, ½, 0: attempts at one problem are no further problems
    assert figure.error is not None
    assert isclose(figure.error, sqrt(0.5 / 3 / 4))
    assert figure.low < 0.5 < figure.high
    assert figure.coverage == 1.0


def test_attempts_without_a_score_are_left_out_and_counted() -> None:
    table = [[1.0] * 10 + [0.0] * 4 + [None] * 6]
    figure = avg_at_k(table)
    assert figure.value is not None
    assert isclose(figure.value, 10 / 14)
    assert (figure.n, figure.coverage) == (14, 0.7)
    nothing = avg_at_k([[None, None]])
    assert (nothing.value, nothing.n, nothing.coverage) == (None, 0, 0.0)


def test_nothing_solved_is_uncertain_all_the_same() -> None:
    figure = avg_at_k([[0.0] * 30] * 4)
    assert (figure.value, figure.error, figure.low) == (0.0, 0.0, 0.0)
    assert 0.05 < figure.high < 0.2


async def test_maj_is_right_where_most_votes_are_for_the_right_answer() -> None:
    answers = [["4", "7", None, "1"], ["4", "8", None, "2"], ["5", "7", None, "2"]]
    table: list[list[float | None]] = [[1, 0, 0, None], [1, 1, 0, 0], [0, 0, 0, 0]]
    figure = await maj_at_k(answers, table, same=by_letter)
    assert (figure.name, figure.value, figure.n, figure.coverage) == ("maj@3", 0.25, 4, 1.0)
    undecided = await maj_at_k([["1", "2"]], [[None, 1.0]], same=by_letter)
    assert (undecided.value, undecided.n, undecided.coverage) == (1.0, 1, 0.5)


async def test_a_majority_may_beat_the_average_and_lose_to_it() -> None:
    answers = [["1", "9"], ["1", "9"], ["2", "3"]]
    table = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    figure = await maj_at_k(answers, table, same=by_letter)
    average = avg_at_k(table)
    assert (figure.value, average.value) == (0.5, 0.5)


async def test_tables_of_other_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shorter|longer"):
        avg_at_k([[1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match="without attempts"):
        avg_at_k([])
    with pytest.raises(ValueError, match="different sizes"):
        await maj_at_k([["1"]], [[1.0, 0.0]], same=by_letter)
