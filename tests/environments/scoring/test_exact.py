"""Notation, numbers and shapes: told without algebra, and never by rounding."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.environments.scoring.exact import same
from evener.environments.scoring.normal import compact, normal, rational, too_big
from evener.environments.scoring.shape import fault, form


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("007", Fraction(7)),
        ("-12", Fraction(-12)),
        ("58,500", Fraction(58500)),
        ("11,\\! 111,\\! 111,\\! 100", Fraction(11111111100)),
        ("\\$32,\\!348", Fraction(32348)),
        ("$58,500$.", Fraction(58500)),
        (".0000672", Fraction(672, 10**7)),
        ("\\frac43", Fraction(4, 3)),
        ("\\frac 34", Fraction(3, 4)),
        ("\\dfrac9{19}", Fraction(9, 19)),
        ("-\\tfrac{3}8", Fraction(-3, 8)),
        ("1\\frac{4}{5}", Fraction(9, 5)),
        ("−7/2", Fraction(-7, 2)),
        ("0.\\overline{6}", Fraction(2, 3)),
        ("-1.1\\overline{6}", Fraction(-7, 6)),
        ("10\\,080", Fraction(10080)),
        ("1{,}234.5", Fraction(12345, 10)),
        ("1251,", Fraction(1251)),
        ("1/0", None),
        ("1 2", None),
        ("1,2", None),
        ("\\sqrt{4}", None),
    ],
)
def test_numbers_are_read_exactly(written: str, value: Fraction | None) -> None:
    assert rational(normal(written)) == value


@pytest.mark.parametrize(
    ("gold", "answer", "equal", "rule"),
    [
        ("73", "073", True, "integer"),
        ("204", "205", False, "integer"),
        ("\\frac{1}{3}", "0.333333", False, "rational"),
        ("0.333333", "\\frac{1}{3}", False, "rational"),
        ("\\frac{1}{4}", "0.25", True, "rational"),
        ("4343_6", "4343_{6}", True, "numeral"),
        ("4343_6", "4343_8", False, "numeral"),
        ("4343_6", "4343", True, "numeral"),
        ("\\text{(C)}", "c", True, "text"),
        ("\\text{east}", "\\text{West}", False, "text"),
        ("p - q", "p-q", True, "string"),
    ],
)
def test_what_needs_no_algebra_is_ruled_with_its_rule(
    gold: str, answer: str, equal: bool, rule: str
) -> None:
    assert same(normal(gold), normal(answer)) == (equal, rule)


@pytest.mark.parametrize(
    ("answer", "kind", "items"),
    [
        ("12 and 35", "set", ("12", "35")),
        ("\\left\\{12, 35\\right\\}", "set", ("12", "35")),
        ("(12, 35)", "tuple", ("12", "35")),
        ("[0, 1)", "interval", ("0", "1")),
        ("x \\in [-2,7]", "interval", ("-2", "7")),
        ("1 \\pm \\sqrt{19}", "set", ("1 +\\sqrt{19}", "1 -\\sqrt{19}")),
        ("a, b, \\text{ and } c", "set", ("a", "b", "c")),
        ("((((1))))", "value", ("1",)),
        ("(a+5)(b+2)", "value", ("(a+5)(b+2)",)),
        ("\\text{(C)}", "text", ("\\text{(C)}",)),
        ("$1$ or $2$", "set", ("1", "2")),
    ],
)
def test_an_answer_has_a_shape(answer: str, kind: str, items: tuple[str, ...]) -> None:
    found = form(answer)
    assert (found.kind, found.items) == (kind, items)


def test_a_matrix_is_one_value_and_keeps_its_rows() -> None:
    matrix = "\\begin{pmatrix} -1 & 0 \\\\ 0 & -1 \\end{pmatrix}"
    assert form(matrix).kind == "value"
    assert normal(matrix) == matrix


@pytest.mark.parametrize(
    ("gold", "why"),
    [
        ("", "is empty"),
        ("$ $", "is empty"),
        ("\\frac{7}{", "leaves a brace open"),
        ("7}", "closes a brace that it did not open"),
        ("\\begin{pmatrix} 1", "leaves an environment open"),
        ("\\frac{1}{576}", None),
        ("\\{1\\pm\\sqrt{5},-2\\}", None),
    ],
)
def test_a_gold_that_has_no_shape_is_told_so(gold: str, why: str | None) -> None:
    assert fault(gold) == why


def test_what_is_too_long_or_too_deep_is_given_to_no_checker() -> None:
    assert too_big("1" * 10**5) == "too_long"
    assert too_big("(" * 400 + "1" + ")" * 400) == "too_deep"
    assert too_big("\\frac{1}{2}") is None


@given(st.text(alphabet="\\frac{}()[]$,.1²9 xandorpm^_-+/±", max_size=40))
def test_any_text_has_a_normal_form_that_stays_and_a_shape(text: str) -> None:
    assert compact(compact(text)) == compact(normal(text)) or compact(text)
    assert form(text).items
    assert same(normal(text), normal(text)) == (True, "string")
    fault(text)
