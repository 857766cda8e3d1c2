"""Gold answers of public problem sets, each against itself: a folder of them is given by the
environment variable EVENER_DATA (math500.jsonl, aime2024.jsonl … with the key `answer`)."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from evener.environments.scoring import Checker, boxed

pytest.importorskip("math_verify", reason="the extra `math` is not installed")


@pytest.fixture(scope="module")
def checker() -> Iterator[Checker]:
    made = Checker(deadline_s=20)
    yield made
    made.close()


def golds(name: str) -> list[str]:
    folder = os.environ.get("EVENER_DATA")
    if not folder:
        pytest.skip("EVENER_DATA names no folder with public problem sets")
    path = Path(folder).expanduser() / f"{name}.jsonl"
    if not path.is_file():
        pytest.skip(f"there is no {path.name} in the folder that EVENER_DATA names")
    return [str(json.loads(line)["answer"]) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(
    ("name", "count"),
    [("math500", 500), ("aime2024", 30), ("aime2025", 30), ("hmmt_feb_2025", 30)],
)
def test_every_gold_is_right_when_it_is_boxed_and_can_be_read(
    checker: Checker, name: str, count: int
) -> None:
    answers = golds(name)
    assert len(answers) == count
    for answer in answers:
        found = boxed(f"So it is $\\boxed{{{answer}}}$.").answer
        assert found is not None
        assert checker.check(answer, found).verdict == "correct", answer
        assert checker.check(answer, f"${answer}$.").verdict == "correct", answer
        assert checker.unreadable(answer) is None, answer


@pytest.mark.parametrize("name", ["math500", "hmmt_feb_2025"])
def test_the_algebra_alone_finds_every_gold_that_is_no_word_equal_to_itself(
    checker: Checker, name: str
) -> None:
    plain = [answer for answer in golds(name) if "\\text{" not in answer]
    unequal = {
        answer
        for answer in plain
        for item in [answer]
        if checker.pool.ask([(item, item)]) != ([True], None)
    }
    assert unequal == set()
