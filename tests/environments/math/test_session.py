"""Episodes of maths: gold scores 1, nothing scores 0, what nobody can rule on scores nothing."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from evener.environments.math import HARNESSES, MathEnvironment
from evener.environments.math.session import SHOWN, extracted, shown
from evener.environments.sandbox import Execution
from evener.environments.scoring import Checker
from evener.protocols.error import ConfigError
from evener.protocols.message import Call
from evener.protocols.port import (
    Answerable,
    Auditable,
    Documented,
    Environment,
    Equating,
    Equipped,
    Observation,
    Session,
)
from evener.protocols.task import Split, Task
from evener.protocols.trajectory import Score

pytest.importorskip("math_verify", reason="the extra `math` is not installed")


@pytest.fixture(scope="module")
def checker() -> Iterator[Checker]:
    made = Checker(deadline_s=20)
    yield made
    made.close()


@pytest.fixture
def maths(checker: Checker) -> MathEnvironment:
    return MathEnvironment(checker=checker)


async def act(session: Session, name: str, **arguments: JsonValue) -> Observation:
    return await session.act(Call(name=name, arguments=arguments))


async def replay(
    maths: MathEnvironment, task: Task, calls: tuple[Call, ...]
) -> tuple[list[Observation], Score]:
    session = await maths.open(task, seed=0)
    seen = [await session.act(call) for call in calls]
    await session.close()
    return seen, await session.score()


def test_it_is_an_environment_with_gold_and_harnesses(maths: MathEnvironment) -> None:
    environment: Environment = maths
    assert isinstance(environment, Auditable)
    assert isinstance(environment, Equipped)
    assert isinstance(environment, Documented)
    assert HARNESSES == ("seed", "tir")
    for name in ("best", "../tir", "tir.yaml", ""):
        with pytest.raises(ConfigError, match="It ships seed, tir"):
            environment.harness_path(name)


@pytest.mark.parametrize("split", list(Split))
async def test_gold_scores_1(maths: MathEnvironment, split: Split) -> None:
    for task in maths.tasks(split, count=12, seed=5):
        seen, score = await replay(maths, task, maths.gold(task))
        assert [observation.error_kind for observation in seen] == [None, None], seen
        assert seen[-1].done
        assert (score.value, score.verdict, score.error_kind) == (1.0, "correct", None), task


async def test_doing_nothing_scores_0(maths: MathEnvironment) -> None:
    for task in maths.tasks(Split.TEST, count=12, seed=5):
        _, score = await replay(maths, task, ())
        assert (score.value, score.verdict, score.error_kind) == (0.0, "incorrect", "no_answer")


async def test_the_score_names_the_rule_and_the_level_of_the_sandbox(
    maths: MathEnvironment,
) -> None:
    (task,) = maths.tasks(Split.TEST, count=1, seed=5)
    _, score = await replay(maths, task, maths.gold(task))
    rule, level = sorted(score.parts)
    assert rule == "rule:string"
    assert level in ("sandbox:process", "sandbox:bwrap")


async def test_python_keeps_its_names_and_says_what_went_wrong(maths: MathEnvironment) -> None:
    (task,) = maths.tasks(Split.TEST, count=1, seed=5)
    session = await maths.open(task, seed=0)
    assert session.observation().text == task.prompt
    first = await act(session, "python", code="x = 41")
    second = await act(session, "python", code="print(x + 1)")
    assert first.error_kind is None
    assert json.loads(second.text) == {"stdout": "42\n", "stderr": "", "exit_code": 0}
    failed = await act(session, "python", code="1 / 0")
    told = json.loads(failed.text)
    assert (failed.error_kind, told["exit_code"]) == ("exception", 1)
    assert "ZeroDivisionError" in told["stderr"]
    assert (await act(session, "python", code=7)).error_kind == "bad_arguments"
    assert (await act(session, "bash", code="ls")).error_kind == "unknown_action"
    assert (await act(session, "final", answer=True)).error_kind == "bad_arguments"
    await session.close()
    assert (await act(session, "python", code="x")).error_kind == "finished"


async def test_code_that_does_not_end_is_stopped(checker: Checker) -> None:
    maths = MathEnvironment(timeout_s=1, checker=checker)
    (task,) = maths.tasks(Split.TEST, count=1, seed=5)
    session = await maths.open(task, seed=0)
    stopped = await asyncio.wait_for(act(session, "python", code="while True: pass"), timeout=60)
    assert stopped.error_kind == "timeout"
    assert json.loads(stopped.text)["exit_code"] == 124
    await session.close()


async def test_two_episodes_share_nothing(maths: MathEnvironment) -> None:
    one, other = [
        await maths.open(task, seed=0) for task in maths.tasks(Split.TEST, count=2, seed=5)
    ]
    await act(one, "python", code="secret = 1")
    assert (await act(other, "python", code="print(secret)")).error_kind == "exception"
    await one.close()
    await other.close()


async def test_after_the_answer_nothing_more_is_taken(maths: MathEnvironment) -> None:
    task = maths.tasks(Split.TEST, count=1, seed=5)[0]
    answer = str(maths.gold(task)[-1].arguments["answer"])
    session = await maths.open(task, seed=0)
    ended = await act(session, "final", answer=f"So it is $\\boxed{{{answer}}}$.")
    assert (ended.text, ended.done) == (f"answer: {answer}", True)
    assert (await act(session, "final", answer="0")).error_kind == "finished"
    await session.close()
    assert (await session.score()).value == 1.0


@pytest.mark.parametrize(
    ("given", "error_kind"),
    [
        ("0", None),
        ("\\boxed{6}. Rather \\boxed{\\frac{7}{", "truncated_answer"),
        ("\\boxed{}", "no_answer"),
        (" ", "no_answer"),
    ],
)
async def test_a_wrong_or_unfinished_answer_scores_0(
    maths: MathEnvironment, given: str, error_kind: str | None
) -> None:
    (task,) = maths.tasks(Split.TEST, count=1, seed=5)
    _, score = await replay(maths, task, (Call(name="final", arguments={"answer": given}),))
    assert (score.value, score.verdict, score.error_kind) == (0.0, "incorrect", error_kind)


@pytest.mark.parametrize("command", ["boxed", "fbox"])
async def test_a_last_reply_whose_box_was_cut_off_hands_in_what_there_is(
    maths: MathEnvironment, command: str
) -> None:
    (task,) = maths.tasks(Split.TEST, count=1, seed=5)
    session = await maths.open(task, seed=0)
    assert isinstance(session, Answerable)
    call = session.answer_in(f"So it is \\{command}{{7")
    assert call is not None
    await session.act(call)
    score = await session.score()
    assert (score.value, score.error_kind) == (0.0, "truncated_answer")


async def test_a_number_is_an_answer_without_an_exponent(maths: MathEnvironment) -> None:
    (task,) = maths.tasks(Split.TEST, count=1, seed=5)
    session = await maths.open(task, seed=0)
    shown = await session.act(Call(name="final", arguments={"answer": 0.00001}))
    assert shown.text == "answer: 0.00001"


async def test_an_answer_that_nobody_can_rule_on_has_no_value(maths: MathEnvironment) -> None:
    (task,) = maths.tasks(Split.TEST, count=1, seed=5)
    given = (Call(name="final", arguments={"answer": "9^{9^{9^{9}}}"}),)
    _, score = await replay(maths, task, given)
    assert (score.value, score.verdict) == (None, "error")
    assert score.error_kind == "scoring: too_large"


async def test_answers_that_are_equal_are_one_vote(maths: MathEnvironment) -> None:
    environment: Environment = maths
    assert isinstance(environment, Equating)
    assert await maths.same("\\boxed{\\frac{1}{\\sqrt{8}}}", "\\frac{\\sqrt{2}}{4}")
    assert not await maths.same("0.333333", "\\frac{1}{3}")
    assert not await maths.same("9^{9^{9^{9}}}", "9^{9^{9^{8}}}")
    assert not await maths.same("\\boxed{}", "7")


def test_what_was_handed_in_is_its_last_box_or_all_of_it() -> None:
    assert extracted(" 204 ").answer == "204"
    assert extracted("\\boxed{1} \\boxed{2}").answer == "2"
    assert extracted("\\frac{1}{2}").answer == "\\frac{1}{2}"


@pytest.mark.parametrize("character", ["x", "\n", "é", "\x00", "\u2028", '"'])
def test_long_output_stays_an_object_that_the_harness_shows_whole(character: str) -> None:
    stderr = f"{character * 9000}ZeroDivisionError"
    text, cut = shown(
        Execution(stdout=character * 50_000, stderr=stderr, error_kind="exception", elapsed=0.1)
    )
    told = json.loads(text)
    assert cut
    assert told["exit_code"] == 1
    assert "characters left out]" in told["stdout"]
    assert told["stderr"].endswith("ZeroDivisionError")
    assert len(text) < SHOWN + 192


async def test_problems_of_a_file_have_gold_too(tmp_path: Path, checker: Checker) -> None:
    path = tmp_path / "a.jsonl"
    row = {"id": "1", "problem": "Solve $x^2 = 2$ for $x$.", "answer": "\\pm\\sqrt{2}"}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    maths = MathEnvironment({Split.TEST: str(path)}, checker=checker)
    (task,) = maths.tasks(Split.TEST, count=1, seed=0)
    _, score = await replay(maths, task, maths.gold(task))
    assert score.value == 1.0
    other = (Call(name="final", arguments={"answer": "-\\sqrt{2}, 2^{1/2}"}),)
    _, score = await replay(maths, task, other)
    assert score.value == 1.0


def test_the_digest_tells_problems_apart_and_not_instances(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "1", "problem": "What is 1+1?", "answer": "2"}\n', encoding="utf-8")
    assert MathEnvironment().digest == MathEnvironment().digest
    assert MathEnvironment({Split.TEST: str(path)}).digest != MathEnvironment().digest
    assert MathEnvironment(timeout_s=5).digest != MathEnvironment().digest


def test_the_interpreters_of_a_loop_end_with_it() -> None:
    maths = MathEnvironment()
    (task,) = maths.tasks(Split.TEST, count=1, seed=5)

    async def whole() -> float | None:
        session = await maths.open(task, seed=0)
        await act(session, "python", code="1")
        await session.close()
        return (await replay(maths, task, maths.gold(task)))[1].value

    before = children()
    assert [asyncio.run(whole()), asyncio.run(whole())] == [1.0, 1.0]
    maths.close()
    assert children() <= before


def children() -> set[str]:
    """The processes that this one has started."""
    task = Path("/proc/self/task")
    return {
        child
        for thread in task.iterdir()
        for child in (thread / "children").read_text("utf-8").split()
    }
