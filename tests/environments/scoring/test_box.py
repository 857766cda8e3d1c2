"""The answer is the last box that holds something; what was cut off is not guessed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.environments.scoring import boxed


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("\\boxed{\\dfrac{3}{8}}", "\\dfrac{3}{8}"),
        ("So $\\boxed{\\text{E}}$.", "\\text{E}"),
        ("\\boxed{1} and then \\boxed{2}", "2"),
        ("\\boxed{7} \\boxed{}", "7"),
        ("\\boxed{7} \\boxed{  }", "7"),
        ("\\boxed{\\boxed{5}}", "5"),
        ("\\boxed{\\{1,2\\}}", "\\{1,2\\}"),
        ("\\boxed{\\left\\{x : x > 0\\right.}", "\\left\\{x : x > 0\\right."),
        ("\\boxed {12}", "12"),
        ("\\fbox{12}", "12"),
        ("\\boxed 5$", "5"),
        ("<think>\\boxed{1}</think> It is \\boxed{2}", "2"),
        ("it opened elsewhere: \\boxed{1}</think>\\boxed{3}", "3"),
        ("\\boxed{4} <think> or \\boxed{9}", "4"),
        ("\\boxed{" + "{" * 3000 + "1" + "}" * 3000 + "}", "{" * 3000 + "1" + "}" * 3000),
    ],
)
def test_the_last_box_that_holds_something_is_the_answer(reply: str, answer: str) -> None:
    assert boxed(reply).answer == answer


@pytest.mark.parametrize(
    ("reply", "missing"),
    [
        ("first guess \\boxed{6}. On reflection it is \\boxed{\\frac{7}{", "truncated_answer"),
        ("\\boxed{", "truncated_answer"),
        ("The answer is 6.", "no_answer"),
        ("", "no_answer"),
        ("\\boxed{}", "no_answer"),
        ("<think>\\boxed{6}</think> I am not sure.", "no_answer"),
        ("<think>it must be \\boxed{6}", "no_answer"),
        ("\\boxedness{6}", "no_answer"),
    ],
)
def test_without_a_finished_box_there_is_no_answer(reply: str, missing: str) -> None:
    found = boxed(reply)
    assert (found.answer, found.missing) == (None, missing)


@given(st.text(alphabet="\\boxed{}1 <think/>", max_size=60))
def test_no_text_is_too_odd_to_be_read(text: str) -> None:
    found = boxed(text)
    assert (found.answer is None) == (found.missing is not None)
