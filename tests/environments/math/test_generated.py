"""Generated problems: exact, checked by a second way, stable, and disjoint between splits."""

import contextlib
import io
import json
import random
from collections import Counter
from collections.abc import Iterator

import pytest

from evener.environments.math.example import EACH, KINDS, examples
from evener.environments.math.generated import Generated, kinds_of
from evener.environments.math.kinds import OOD, USUAL
from evener.environments.math.kinds.kind import Made
from evener.environments.math.problem import Problem
from evener.environments.scoring import Checker
from evener.protocols.error import DataError
from evener.protocols.task import Split, Task

PROBLEMS = Generated()
MANY = 600


@pytest.fixture(scope="module")
def drawn() -> dict[Split, tuple[Problem, ...]]:
    return {split: tuple(PROBLEMS.draw(split, count=MANY, seed=3)) for split in Split}


@pytest.fixture(scope="module")
def checker() -> Iterator[Checker]:
    pytest.importorskip("math_verify", reason="the extra `math` is not installed")
    made = Checker(deadline_s=30)
    yield made
    made.close()


def printed(made: Made) -> str:
    """What the program of one of our own problems prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(made.program, {})  # our own code, which a seed made
    return out.getvalue().strip().removeprefix("[").removesuffix("]")


@pytest.mark.parametrize("kind", [*USUAL, *OOD])
def test_a_second_way_finds_the_same_answer(kind: str, checker: Checker) -> None:
    make = {**USUAL, **OOD}[kind]
    for seed in range(8):
        made = make(random.Random(f"{kind} {seed}"))
        found = printed(made)
        judged = checker.check(made.answer, found)
        assert judged.verdict == "correct", (made, found, judged)
        assert checker.unreadable(made.answer) is None


def test_worked_examples_print_what_they_say_and_belong_to_no_split(checker: Checker) -> None:
    seen = set[str]()
    for example in examples():
        asked, run, result, final = example.turns
        assert run.call is not None
        assert final.call is not None
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(str(run.call.arguments["code"]), {})  # our own code, which a seed made
        assert json.loads(result.content or "")["stdout"] == out.getvalue()
        assert final.call.arguments["answer"] == out.getvalue().strip()
        seen.add(asked.content or "")
    assert len(seen) == len(examples()) == EACH * len(KINDS)
    for split in Split:
        assert not seen & {problem.prompt for problem in PROBLEMS.draw(split, count=600, seed=1)}


def test_a_draw_is_a_function_of_split_count_and_seed(
    drawn: dict[Split, tuple[Problem, ...]],
) -> None:
    assert tuple(PROBLEMS.draw(Split.TEST, count=60, seed=3)) == drawn[Split.TEST][:60]
    other = PROBLEMS.draw(Split.TEST, count=60, seed=4)
    assert {p.prompt for p in other} != {p.prompt for p in drawn[Split.TEST][:60]}


def test_this_very_problem_stays_the_same() -> None:
    (made,) = PROBLEMS.draw(Split.MINE, count=1, seed=0)
    assert (made.id, made.kind) == ("math-mine-0-0", "arithmetic")
    assert (made.prompt, made.answer) == ("What is $61 \\cdot 52 + 172$?", "3344")


def test_ids_and_prompts_occur_once_over_all_splits(
    drawn: dict[Split, tuple[Problem, ...]],
) -> None:
    problems = [problem for split in drawn.values() for problem in split]
    assert len({problem.id for problem in problems}) == len(problems) == 5 * MANY
    assert len({problem.prompt for problem in problems}) == len(problems)


def test_kinds_take_turns_and_ood_has_its_own(drawn: dict[Split, tuple[Problem, ...]]) -> None:
    for split, problems in drawn.items():
        kinds = kinds_of(split)
        assert Counter(p.kind for p in problems) == dict.fromkeys(kinds, MANY // len(kinds))
    assert not set(USUAL) & set(OOD)


def test_no_answer_stands_in_its_problem_for_all_to_read(
    drawn: dict[Split, tuple[Problem, ...]],
) -> None:
    told = [p for p in drawn[Split.TEST] if len(p.answer) > 3 and p.answer in p.prompt]
    assert told == []


@pytest.mark.parametrize(
    "wrong", ["math-test-3-1", "math-best-3-0", "math-test-3", "storefront-test-3-0", "", "1"]
)
def test_a_task_that_is_not_what_its_id_says_is_refused(wrong: str) -> None:
    task = PROBLEMS.draw(Split.TEST, count=1, seed=3)[0].task()
    assert PROBLEMS.find(task).task() == task
    with pytest.raises(DataError, match="not one that this generator makes"):
        PROBLEMS.find(Task(id=wrong, split=task.split, kind=task.kind, prompt=task.prompt))


def test_less_than_one_problem_is_refused() -> None:
    with pytest.raises(DataError, match="at least one"):
        PROBLEMS.draw(Split.TEST, count=0, seed=0)
