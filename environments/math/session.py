"""One episode: Python as often as wanted, then one answer. Its state is the interpreter and the
answer that was handed in."""

import json
import time
from typing import cast

from evener.environments.check import refusal
from evener.environments.math.interpreter import Interpreters
from evener.environments.math.problem import Problem
from evener.environments.sandbox import Execution, PythonTool
from evener.environments.scoring import Checker, Found, Judgement, boxed, unanswered, written
from evener.protocols.digest import JsonObject
from evener.protocols.message import Call
from evener.protocols.port import ActionSpec, Observation
from evener.protocols.trajectory import Score

TIMEOUT_S = 30.0
SHOWN = 8000
_STDERR = 2000


def _schema(**properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


ACTIONS: tuple[ActionSpec, ...] = (
    ActionSpec(
        name="python",
        description="Runs Python code. Names last until the task is over; print what you want to "
        "see. sympy and numpy are there.",
        parameters=_schema(code={"type": "string"}),
    ),
    ActionSpec(
        name="final",
        description="Ends the task with the answer, exact and in LaTeX where it is no whole "
        "number.",
        parameters=_schema(answer={"type": ["string", "number"]}),
        final=True,
    ),
)


class MathSession:
    """An interpreter is taken with the first call of `python` and ends with the session."""

    def __init__(
        self,
        problem: Problem,
        *,
        checker: Checker,
        interpreters: Interpreters,
        level: str,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._problem = problem
        self._checker = checker
        self._interpreters = interpreters
        self._level = level
        self._timeout_s = timeout_s
        self._tool: PythonTool | None = None
        self._found: Found | None = None
        self._closed = False
        self._judgement: Judgement | None = None

    def observation(self) -> Observation:
        """The problem, as it stands in its source."""
        return Observation(text=self._problem.prompt)

    def actions(self) -> tuple[ActionSpec, ...]:
        """`python(code)` and `final(answer)`."""
        return ACTIONS

    async def act(self, call: Call) -> Observation:
        """One action. After `final` every further one is refused as `finished`."""
        if self._closed or self._found is not None:
            return Observation(text="the task is finished", error_kind="finished", done=True)
        refused = refusal(call, ACTIONS)
        if refused is not None:
            return refused
        if call.name == "python":
            return await self._run(cast("str", call.arguments["code"]))
        given = cast("str | int | float", call.arguments["answer"])
        self._found = extracted(given if isinstance(given, str) else written(given))
        return Observation(text=f"answer: {self._found.answer or ''}".strip(), done=True)

    def answer_in(self, reply: str) -> Call | None:
        """A reply whose last box holds something, or was cut off, hands that in."""
        found = boxed(reply)
        if found.missing == "no_answer":
            return None
        return Call(name="final", arguments={"answer": found.answer or found.cut})

    async def score(self) -> Score:
        """The ruling on the answer that was handed in; none is 0, an undecided one has no value.
        Its parts name the rule that fired and the sandbox's level."""
        score = (await self.judge()).score()
        return score.model_copy(update={"parts": {**score.parts, f"sandbox:{self._level}": 1.0}})

    async def judge(self) -> Judgement:
        """The same with the extracted answer."""
        if self._judgement is None:
            found = self._found or Found(None, "no_answer")
            if found.answer is None:
                self._judgement = unanswered(found.missing or "no_answer")
            else:
                self._judgement = await self._checker.judge(self._problem.answer, found.answer)
        return self._judgement

    async def close(self) -> None:
        """End the interpreter. The session can still be scored."""
        self._closed = True
        tool, self._tool = self._tool, None
        if tool is not None:
            await tool.close()

    async def _run(self, code: str) -> Observation:
        start = time.perf_counter()
        if self._tool is None:
            self._tool = await self._interpreters.tool()
            await self._tool.start()
        execution = await self._tool.run(code, self._timeout_s)
        text, cut = shown(execution)
        return Observation(
            text=text,
            error_kind=execution.error_kind,
            elapsed=time.perf_counter() - start,
            truncated=execution.truncated or cut,
        )


def extracted(answer: str) -> Found:
    """The answer in what was handed in: its last box, or all of it where it has none."""
    found = boxed(answer)
    whole = answer.strip()
    empty = "\\boxed" in whole or "\\fbox" in whole
    return Found(whole) if found.missing == "no_answer" and whole and not empty else found


def shown(execution: Execution) -> tuple[str, bool]:
    """The result as the student reads it, an object of stdout, stderr and exit_code in at most
    about `SHOWN` characters, and whether something was left out. Of stdout the beginning is kept,
    of stderr the end, where a traceback says what was wrong."""
    error = _cut(execution.stderr, _STDERR, end=True)
    out = _cut(execution.stdout, SHOWN - _STDERR, end=False)
    code = {None: 0, "output_truncated": 0, "timeout": 124, "killed": 137, "memory": 137}
    result = {"stdout": out, "stderr": error, "exit_code": code.get(execution.error_kind, 1)}
    cut = (out, error) != (execution.stdout, execution.stderr)
    return json.dumps(result, ensure_ascii=False), cut


def _cut(text: str, most: int, *, end: bool) -> str:
    """At most `most` characters of a text as they are written in JSON."""
    left_out = 0
    kept = text
    while (length := len(json.dumps(kept, ensure_ascii=False))) > most:
        size = min(len(kept) - 1, len(kept) * most // length)
        kept = kept[-size:] if end else kept[:size]
        left_out = len(text) - size
    if not left_out:
        return text
    note = f"[{left_out} characters left out]"
    return f"{note}\n{kept}" if end else f"{kept}\n{note}"
