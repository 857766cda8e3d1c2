"""Exact values, and the one number that an expression must have held."""

from fractions import Fraction

import pytest

from evener.agents.knowledge.arithmetic import number, solve, value, written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("79*52", Fraction(4108)),
        ("(2+3)*-4", Fraction(-20)),
        ("0.1+0.2", Fraction(3, 10)),
        ("7/2", Fraction(7, 2)),
        ("9**9", None),
        ("2*", None),
        ("1/0", None),
        ("__import__('os')", None),
        ("", None),
        ("(" * 300, None),
        ("999999999*999999999", None),
    ],
)
def test_an_expression_has_its_exact_value_or_none(text: str, expected: Fraction | None) -> None:
    assert value(text) == expected


def test_only_a_bare_number_is_a_number() -> None:
    assert number(" 4108 ") == 4108
    assert number("4 dollars") is None
    assert number("1e9") is None


@pytest.mark.parametrize(
    ("found", "text"),
    [(Fraction(52), "52"), (Fraction(-5, 2), "-2.5"), (Fraction(1, 100), "0.01")],
)
def test_a_number_is_written_as_a_result_shows_it(found: Fraction, text: str) -> None:
    assert written(found) == text


def test_a_number_that_needs_more_decimals_is_not_written() -> None:
    assert written(Fraction(1, 3)) is None
    assert written(Fraction(1, 1000)) is None


@pytest.mark.parametrize(
    ("before", "behind", "result", "expected"),
    [
        ("79*", "", "4108", "52"),
        ("100-", "*3", "40", "20"),
        ("120/", "", "8", "15"),
        ("3*", "", "10", None),  # 3.333…: no result shows it
        ("0*", "", "0", None),  # any number would do
        ("2*", "**2", "8", None),
    ],
)
def test_what_must_have_stood_in_an_expression(
    before: str, behind: str, result: str, expected: str | None
) -> None:
    assert solve(lambda x: value(f"{before}{x}{behind}"), Fraction(result)) == expected
