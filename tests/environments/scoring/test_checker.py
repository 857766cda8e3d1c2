"""Three layers and three verdicts: right is right however it is written, and nothing hangs."""

import asyncio
import gc
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evener.environments.scoring import Checker, boxed, unanswered
from evener.environments.scoring.process import Lost, Worker
from evener.environments.scoring.worker import KNOWN
from evener.protocols.error import InfraError

pytest.importorskip("math_verify", reason="the extra `math` is not installed")

ROOTS = "\\frac{-1+\\sqrt{17}}{2}, \\frac{-1-\\sqrt{17}}{2}"

COLUMN = "\\begin{pmatrix} 1/5 \\\\ -18/5 \\end{pmatrix}"


@pytest.fixture(scope="module")
def checker() -> Iterator[Checker]:
    made = Checker()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("\\{12, 35\\}", "35 and 12"),
        ("12 and 35", "35 and 12"),
        ("\\frac{9 \\sqrt{23}}{23}", "\\frac{9}{\\sqrt{23}}"),
        (ROOTS, "\\frac{-1\\pm\\sqrt{17}}{2}"),
        (ROOTS, "\\frac{-1-\\sqrt{17}}{2} \\text{ and } \\frac{\\sqrt{17}-1}{2}"),
        ("2^{25} \\cdot 26!", "26! \\cdot 2^{25}"),
        ("2^{25} \\cdot 26!", "2^25*26!"),
        ("\\sqrt{\\frac{95}{24}}", "\\frac{\\sqrt{570}}{12}"),
        ("14+4\\sqrt{37}", "14+4*sqrt(37)"),
        ("1-\\frac{2}{\\pi}", "\\frac{\\pi-2}{\\pi}"),
        ("x \\in [-2,7]", "-2\\le x\\le 7"),
        ("x=5", "5"),
        ("y = 2x + 3", "2x+3"),
        (COLUMN, "\\begin{bmatrix} 0.2 \\\\ -3.6 \\end{bmatrix}"),
        ("90^\\circ", "90"),
        ("3/8", "\\dfrac{3}{8}"),
        ("E", "\\text{E}"),
        ("\\frac{1}{2}", "\\frac{1}{2}=0.5"),
        ("\\frac{2}{3}", "0.\\overline{6}"),
        ("(3,4]", "3<x\\le 4"),
        ("864 \\mbox{ inches}^2", "864"),
        ("(-\\infty, 2) \\cup (3, \\infty)", "(3,\\infty)\\cup(-\\infty,2)"),
        ("(a+5)(b+2)", "ab+2a+5b+10"),
        ("10^{-5}", "1e-05"),
        ("1500", "1.5e3"),
        ("\\frac{5}{2}", "2 1/2"),
        ("1,2,3,4,5,6,7,8,9", "9,8,7,6,5,4,3,2,1"),
        ("-1", "i^2"),
        ("3+4i", "(2+i)^2"),
        ("i\\sqrt{3}", "\\sqrt{-3}"),
        ("e^{i\\pi/3}", "\\frac12+\\frac{\\sqrt3}{2}i"),
        ("\\emptyset", "\\varnothing"),
        ("\\emptyset", "\\{ \\}"),
        ("\\{1,2\\}", "\\lbrace 1,2\\rbrace"),
        ("10", "{5\\choose 2}"),
        ("10", "\\tbinom52"),
        ("1/3", "0.\\overline3"),
        ("1/3", "0.\\dot{3}"),
        ("7", "7\\ "),
        ("7", "\u200b7\ufeff"),
        ("7", "\\boldsymbol{7}"),
        ("204", "\\text{204 minutes}"),
        ("hello world", "Hello World"),
        ("5", "m+n=5"),
        ("\\cot x", "\\frac{\\cos x}{\\sin x}"),
    ],
)
def test_equal_answers_are_correct(checker: Checker, gold: str, answer: str) -> None:
    judged = checker.check(gold, answer)
    assert (judged.verdict, judged.answer) == ("correct", answer), judged


@pytest.mark.parametrize(
    ("gold", "answer", "rule"),
    [
        ("12 and 35", "35", "shape"),
        ("35", "12 and 35", "shape"),
        ("(12, 35)", "(35, 12)", "integer"),
        ("[0, 1)", "[0, 1]", "shape"),
        (ROOTS, "\\frac{-1+\\sqrt{17}}{2}", "shape"),
        ("\\frac{1}{3}", "0.333333", "rational"),
        ("\\sqrt{2}", "1.41421356237309505", "math-verify"),
        ("\\sqrt{2}", "\\frac{141421356237309505}{10^{17}}", "math-verify"),
        ("\\pi", "3.14159265358979323846264338", "math-verify"),
        ("\\frac{9 \\sqrt{23}}{23}", "1.87663", "math-verify"),
        ("2k", "2n", "math-verify"),
        ("42", "1/0", "math-verify"),
        ("42", "I do not know", "math-verify"),
        ("x+y=3", "3", "math-verify"),
        ("42", "41=42", "math-verify"),
        ("1", "i", "math-verify"),
        ("listen", "silent", "text"),
        ("CAT", "ACT", "text"),
        ("42", "42\\text{ thousand}", "magnitude"),
        ("0.333", "0.333...", "dots"),
        ("1,2", ",".join(map(str, range(39))), "shape"),
    ],
)
def test_other_answers_are_incorrect_and_a_rounded_decimal_is_another_answer(
    checker: Checker, gold: str, answer: str, rule: str
) -> None:
    judged = checker.check(gold, answer)
    assert (judged.verdict, judged.rule) == ("incorrect", rule)


ONES = "\\\\".join("&".join(["1"] * 200) for _ in range(200))
HANGING = {
    "tower": "9^{9^{9^{9}}}",
    "tower of sevens": "7^{7^{7^{7^{7}}}}",
    "ten to ten to ten": "10^{10^{10}}",
    "factorial": "(10^9)!",
    "braced factorial": "(10^{9})!",
    "binomial": "\\binom{10^8}{5\\cdot 10^7}",
    "two to two to forty": "2^{2^{40}}",
    "sum": "\\sum_{k=1}^{10^9} \\frac{1}{k^2+1}",
    "product": "\\prod_{k=1}^{10^9} k",
    "integral": "\\int_0^{1} x^{x} \\sin(x^{x}) \\ln(1+\\cos x) dx",
    "parentheses": "(" * 400 + "1" + ")" * 400,
    "more parentheses": "(" * 5000 + "1" + ")" * 5000,
    "characters": "1" * 10**5,
    "fractions": "\\frac{1}{1+" * 200 + "1" + "}" * 200,
    "matrix": f"\\begin{{pmatrix}}{ONES}\\end{{pmatrix}}",
}


@pytest.mark.parametrize("gold", ["2", "\\sqrt{2}"])
async def test_what_hangs_a_checker_is_an_error_while_others_are_scored(
    checker: Checker, gold: str
) -> None:
    beats = 0

    async def heart() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.01)
            beats += 1

    beating = asyncio.create_task(heart())
    odd = [checker.judge(gold, answer) for answer in HANGING.values()]
    plain = [checker.judge("\\sqrt{8}", "2\\sqrt{2}") for _ in range(8)]
    judged = await asyncio.wait_for(asyncio.gather(*odd, *plain), timeout=200)
    beating.cancel()
    for name, found in zip(HANGING, judged, strict=False):
        assert (found.verdict, found.score().value) == ("error", None), (name, found)
        assert (found.score().error_kind or "").startswith("scoring: ")
    assert [found.verdict for found in judged[len(odd) :]] == ["correct"] * 8
    assert beats > 10
    assert len(checker.pool.pids()) == checker.pool.size


async def test_a_deadline_is_kept_and_the_worker_replaced() -> None:
    checker = Checker(size=1, deadline_s=0.5)
    try:
        assert (await checker.judge("\\sqrt{8}", "2\\sqrt{2}")).verdict == "correct"
        (before,) = checker.pool.pids()
        odd = await asyncio.wait_for(checker.judge("2", HANGING["integral"]), timeout=60)
        assert (odd.verdict, odd.rule) == ("error", "timeout")
        with pytest.raises(ProcessLookupError):
            os.kill(before, 0)
        assert (await checker.judge("\\sqrt{8}", "2\\sqrt{2}")).verdict == "correct"
        assert (checker.pool.replaced, len(checker.pool.pids())) == (1, 1)
    finally:
        checker.close()


def test_a_killed_worker_is_an_error_and_is_replaced() -> None:
    checker = Checker(size=1)
    try:
        assert checker.check("\\sqrt{8}", "2\\sqrt{2}").verdict == "correct"
        os.killpg(checker.pool.pids()[0], signal.SIGKILL)
        judged = checker.check("\\sqrt{8}", "2\\sqrt{2}")
        assert (judged.verdict, judged.rule) == ("error", "killed")
        assert checker.check("\\sqrt{8}", "2\\sqrt{2}").verdict == "correct"
    finally:
        checker.close()


def test_a_worker_has_a_group_of_its_own_and_a_bound_on_its_memory() -> None:
    worker = Worker()
    try:
        worker.ask([("x", "x")], deadline_s=30)
        assert os.getpgid(worker.pid) == worker.pid != os.getpgid(0)
        limits = Path(f"/proc/{worker.pid}/limits").read_text("utf-8").splitlines()
        (space,) = [line for line in limits if line.startswith("Max address space")]
        assert space.split()[3] == str(2 << 30)
    finally:
        worker.kill()


def test_a_worker_leaves_when_nobody_holds_its_pipe() -> None:
    worker = Worker()
    worker.ask([("x", "x")], deadline_s=30)
    process = worker._process
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=60) == 0
    with pytest.raises(Lost, match="killed"):
        worker.ask([("x", "x")], deadline_s=1)


async def test_the_ruling_is_the_same_in_the_loop_in_a_thread_and_in_eight_threads(
    checker: Checker,
) -> None:
    pairs = [(gold, answer) for gold, answer, _ in KNOWN]
    known = [right for _, _, right in KNOWN]
    here = [checker.check(*pair).verdict == "correct" for pair in pairs]
    asked = await asyncio.gather(*(checker.judge(*pair) for pair in pairs))
    threads = await asyncio.gather(*(asyncio.to_thread(checker.check, *pair) for pair in pairs))
    with ThreadPoolExecutor(8) as many:
        eight = list(many.map(lambda pair: checker.check(*pair), pairs))
    assert here == known
    for found in (asked, threads, eight):
        assert [judged.verdict == "correct" for judged in found] == known


def test_an_alarm_of_the_caller_s_own_is_left_alone(checker: Checker) -> None:
    rung = threading.Event()
    before = signal.signal(signal.SIGALRM, lambda *_: rung.set())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        assert checker.check("\\sqrt{8}", "2\\sqrt{2}").verdict == "correct"
        until = time.monotonic() + 30
        while not rung.is_set() and time.monotonic() < until:
            time.sleep(0.01)
        assert rung.is_set()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_several_boxes_are_not_merged(checker: Checker) -> None:
    found = boxed("It is \\boxed{12}, no, \\boxed{35}.")
    assert found.answer == "35"
    assert checker.check("12", found.answer).verdict == "incorrect"
    assert checker.check("\\{12, 35\\}", found.answer).verdict == "incorrect"


def test_a_cut_answer_is_incorrect_and_says_so() -> None:
    found = boxed("first guess \\boxed{6}. On reflection it is \\boxed{\\frac{7}{")
    assert found.missing is not None
    score = unanswered(found.missing).score()
    assert (score.value, score.verdict, score.error_kind) == (0.0, "incorrect", "truncated_answer")


def test_a_score_names_the_rule_that_fired(checker: Checker) -> None:
    assert checker.check("204", "204").score().parts == {"rule:string": 1.0}
    assert checker.check("\\sqrt{8}", "2\\sqrt{2}").score().parts == {"rule:math-verify": 1.0}


def test_a_gold_that_algebra_cannot_read_is_told_so(checker: Checker) -> None:
    assert checker.unreadable("\\frac{7}{") == "leaves a brace open"
    assert checker.unreadable("\\frac{1}{576}") is None
    assert checker.unreadable("\\sqrt{23}-2 \\sqrt{3}") is None
    assert checker.unreadable("\\text{Evelyn}") is None
    assert checker.unreadable("\\sqrt + ") is not None


def test_a_checker_that_nobody_holds_leaves_no_process() -> None:
    checker = Checker(size=1)
    assert checker.check("\\sqrt{8}", "2\\sqrt{2}").verdict == "correct"
    (pid,) = checker.pool.pids()
    del checker
    gc.collect()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_closing_while_something_hangs_ends_it() -> None:
    checker = Checker(size=1, deadline_s=100)
    hanging = asyncio.create_task(checker.judge("2", HANGING["integral"]))
    await asyncio.sleep(1)
    checker.close()
    await asyncio.wait_for(asyncio.wait([hanging]), timeout=30)
    failed = hanging.exception()
    assert isinstance(failed, InfraError) or hanging.result().verdict == "error"
    assert checker.pool.pids() == ()


def test_a_closed_checker_fails_rather_than_hangs() -> None:
    checker = Checker(size=1)
    checker.close()
    with pytest.raises(InfraError, match="closed"):
        checker.check("\\sqrt{8}", "2\\sqrt{2}")
