"""Public problem sets as sources: a folder of them is given by the environment variable EVENER_DATA
(aime2024.jsonl, aime2025.jsonl, hmmt_feb_2025.jsonl, math500.jsonl, aime_1983_2023_train.jsonl)."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from evener.environments.math import MathEnvironment
from evener.environments.math.collected import Collected
from evener.environments.scoring import Checker
from evener.protocols.message import Call
from evener.protocols.task import Split

pytest.importorskip("math_verify", reason="the extra `math` is not installed")


@pytest.fixture(scope="module")
def checker() -> Iterator[Checker]:
    made = Checker(deadline_s=20)
    yield made
    made.close()


def source(name: str) -> str:
    folder = os.environ.get("EVENER_DATA")
    if not folder:
        pytest.skip("EVENER_DATA names no folder with public problem sets")
    path = Path(folder).expanduser() / f"{name}.jsonl"
    if not path.is_file():
        pytest.skip(f"there is no {path.name} in the folder that EVENER_DATA names")
    return str(path)


@pytest.mark.parametrize("name", ["aime2024", "aime2025", "hmmt_feb_2025"])
async def test_gold_scores_1_and_nothing_scores_0_on_every_problem(
    name: str, checker: Checker
) -> None:
    maths = MathEnvironment({Split.TEST: source(name)}, checker=checker)
    tasks = maths.tasks(Split.TEST, count=30, seed=0)
    for task in tasks:
        (final,) = maths.gold(task)
        boxed = f"The answer is $\\boxed{{{final.arguments['answer']}}}$."
        for given, value in ((boxed, 1.0), (None, 0.0)):
            session = await maths.open(task, seed=0)
            if given is not None:
                await session.act(Call(name="final", arguments={"answer": given}))
            await session.close()
            assert (await session.score()).value == value, task.id
    if name == "aime2024":
        assert sum("tikzpicture" in task.prompt for task in tasks) == 1


def test_the_training_set_shares_no_problem_with_the_tests(checker: Checker) -> None:
    train = source("aime_1983_2023_train")
    for name in ("aime2024", "aime2025", "hmmt_feb_2025"):
        sources = dict.fromkeys((Split.MINE, Split.HELD_IN, Split.HELD_OUT), train)
        problems = Collected({**sources, Split.TEST: source(name)}, checker=checker)
        drawn = [problems.draw(split, count=250, seed=0) for split in sources]
        assert len({problem.id for split in drawn for problem in split}) == 750


async def test_no_gold_is_taken_for_another_problem_s(checker: Checker) -> None:
    maths = Collected({Split.TEST: source("math500")}, checker=checker)
    problems = maths.draw(Split.TEST, count=500, seed=0)
    wrong = 0
    for one, other in zip(problems, [*problems[1:], problems[0]], strict=True):
        verdict = checker.check(one.answer, other.answer).verdict
        if verdict == "correct":
            assert checker.check(other.answer, one.answer).verdict == "correct"
            assert len(one.answer) < 4
            wrong += 1
    assert wrong <= 25  # small numbers that are the answer of both
