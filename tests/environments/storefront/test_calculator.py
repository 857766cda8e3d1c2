"""Arithmetic on untrusted text: exact, bounded, and never Python."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.environments.storefront.calculator import (
    LARGEST,
    BadExpressionError,
    evaluate,
    formatted,
    rounded,
)


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("445*100", "44500"),
        ("0.1+0.2", "0.3"),
        ("12.50*2", "25"),
        ("(3+4)*5", "35"),
        ("7/2", "3.5"),
        ("1/3", "0.33"),
        ("2/3", "0.67"),
        ("-2/3", "-0.67"),
        ("1/200", "0.01"),
        ("-1/200", "-0.01"),
        ("1/1000", "0"),
        ("-1/1000", "0"),
        ("5 - 8", "-3"),
        ("--5", "5"),
        ("+5", "5"),
        ("1005/1000", "1.01"),
        ("99.999", "100"),
    ],
)
def test_results_are_exact_and_shown_with_at_most_two_decimals(expression: str, shown: str) -> None:
    assert formatted(evaluate(expression)) == shown


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("2**9", "bad_expression"),
        ("7//2", "bad_expression"),
        ("7%2", "bad_expression"),
        ("__import__('os')", "bad_expression"),
        ("1e5", "bad_expression"),
        ("1_000", "bad_expression"),
        ("12x3", "bad_expression"),
        ("12×3", "bad_expression"),
        ("$5*3", "bad_expression"),
        ("1,000*2", "bad_expression"),
        (" 1+1", "bad_expression"),
        ("1+1 ", "bad_expression"),
        ("1+\n1", "bad_expression"),
        ("1+\x001", "bad_expression"),
        ("", "bad_expression"),
        ("1+", "bad_expression"),
        ("(1", "bad_expression"),
        ("007", "bad_expression"),
        ("3(4)", "bad_expression"),
        ("()", "bad_expression"),
        ("...", "bad_expression"),
        ("٣+1", "bad_expression"),
        ("1" * 65, "bad_expression"),
        ("9" * 60, "too_large"),
        ("9" * 13 + ".5", "too_large"),
        ("999999999999*2", "too_large"),
        ("1/0", "division_by_zero"),
        ("1/(2-2)", "division_by_zero"),
    ],
)
def test_all_else_is_refused_with_its_kind(expression: str, kind: str) -> None:
    with pytest.raises(BadExpressionError) as caught:
        evaluate(expression)
    assert caught.value.kind == kind
    assert len(str(caught.value)) < 140


@given(st.text(alphabet="0123456789.+-*/() ", max_size=64))
def test_whatever_the_text_the_result_is_bounded_or_refused(expression: str) -> None:
    try:
        value = evaluate(expression)
    except BadExpressionError:
        return
    assert abs(value) <= LARGEST


@given(st.integers(0, 10**5), st.integers(0, 10**5))
def test_products_sums_and_differences_are_pythons(a: int, b: int) -> None:
    assert formatted(evaluate(f"{a}*{b}+{a}-{b}")) == str(a * b + a - b)


@given(st.fractions())
def test_rounding_moves_a_value_by_half_a_hundredth_at_most(value: Fraction) -> None:
    assert abs(rounded(value) - value) <= Fraction(1, 200)
    assert Fraction(formatted(value)) == rounded(value)
