"""The desk's detectors read its questions as they were made, by their words alone."""

import shutil
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evener.environments.storefront as shop
from evener.environments.storefront import Storefront
from evener.environments.storefront.detectors.calculation import is_of
from evener.environments.storefront.detectors.question import OPERATORS, question
from evener.environments.storefront.environment import source_digest
from evener.environments.storefront.task import recover
from evener.environments.storefront.wording import OOD, USUAL
from evener.protocols.conduct import amount, numbers
from evener.protocols.task import Split

SHOP = Storefront()


@pytest.mark.parametrize("split", list(Split))
def test_a_question_is_read_as_it_was_made(split: Split) -> None:
    for task in SHOP.tasks(split, count=120, seed=7):
        world, read = recover(task), question(task.prompt)
        assert read.kind == task.kind
        assert (read.source, read.target) == (world.source, world.target)
        match task.kind:
            case "calc":
                assert [*read.numbers] == [*world.numbers]
                assert read.operator == world.form
            case "price":
                assert [*read.numbers] == [world.numbers[0]]
                assert read.items == (world.item,)
            case "convert":
                assert [*read.numbers] == [*world.numbers]
            case _:
                assert read.items == (world.item, world.other)


def test_every_wording_occurs_in_what_was_read() -> None:
    assert set(OPERATORS.values()) | {"price", "weight", "length", "volume", "bill"} == set(USUAL)
    assert set(OOD) == set(USUAL)


@given(st.text(max_size=80) | st.from_regex(r"(how many|convert|one|\d+ pounds|red cup| ){1,9}"))
def test_no_text_is_too_odd_to_be_read(text: str) -> None:
    assert question(text).kind in {"calc", "price", "convert", "bill", ""}
    assert all(number >= 0 for number in numbers(text))
    assert amount(text) == amount(f" {text} ")


@pytest.mark.parametrize(
    "text", ["convert pounds into grams", "3 pounds, 4 grams", "9" * 5000, "1 pounds 1 grams"]
)
def test_units_without_one_number_before_one_of_them_are_no_conversion(text: str) -> None:
    assert question(text).kind == ""


def test_numbers_that_are_the_same_are_equal_and_words_are_no_numbers() -> None:
    assert amount("2.0") == amount(2) == amount(" 2 ")
    assert amount("-3") == -3
    assert amount("two") == "two"
    assert numbers("855/45 and 12x, v3, 7.") == (Fraction(855), Fraction(45), Fraction(7))


def test_order_counts_only_where_it_matters() -> None:
    sold, left = (Fraction(31), Fraction(79)), (Fraction(213), Fraction(193))
    assert is_of("79*31", "*", sold)
    assert not is_of("79*31+0", "*", sold)
    assert is_of("(213 - 193)", "-", left)
    assert not is_of("193-213", "-", left)


def test_detectors_are_no_part_of_what_decides_a_score(tmp_path: Path) -> None:
    there = Path(shop.__file__).parent
    copy = Path(shutil.copytree(there, tmp_path / "storefront"))
    shutil.copy(there.parent / "check.py", tmp_path)
    assert source_digest(copy) == SHOP.digest
    (copy / "detectors" / "question.py").write_text("")
    source_digest.cache_clear()
    assert source_digest(copy) == SHOP.digest
