"""A small environment and a simulated student, whose behaviour depends on its prompt alone.

The environment is a depot with two kinds of question. The student imitates the worked example
whose question is most like the task's; shown none, it answers in plain words.
"""

import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from evener.agents.harness.loop import run_episode
from evener.agents.pattern import Background, published
from evener.protocols.digest import JsonObject
from evener.protocols.harness import ExampleCall, ExampleTurn, Harness, Prompt, Tool
from evener.protocols.message import Call, Message
from evener.protocols.model import ModelRef, Reply, Request, Usage
from evener.protocols.port import ActionSpec, Observation, WorkedExample
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Outcome, Score, Trajectory, prompt_digest

UNITS = {"crate": 6, "pallet": 48, "drum": 3}


def _schema(**properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


ACTIONS = (
    ActionSpec(
        name="stock",
        description="How many pieces of a part the shelf holds.",
        parameters=_schema(part={"type": "string"}),
    ),
    ActionSpec(
        name="unpack",
        description="How many pieces an amount of a unit holds.",
        parameters=_schema(
            amount={"type": "integer"}, unit={"type": "string", "enum": list(UNITS)}
        ),
    ),
    ActionSpec(
        name="close",
        description="Ends the task with the answer.",
        parameters=_schema(answer={"type": "integer"}),
        final=True,
    ),
)


def _held(part: str) -> int:
    return 10 + sum(map(ord, part)) % 90


def _stock_prompt(part: str, who: str) -> str:
    return f"{who} stands before the shelf: how much of part {part} does it hold?"


def _unpack_prompt(amount: int, unit: str, who: str) -> str:
    return f"{who} receives {amount} {unit}s by truck, and wants the number of single pieces."


class Desk:
    """One episode at the depot."""

    def __init__(self, answer: int) -> None:
        self._answer = answer
        self._given: object = None

    def observation(self) -> Observation:
        return Observation(text="")

    def actions(self) -> tuple[ActionSpec, ...]:
        return ACTIONS

    async def act(self, call: Call) -> Observation:
        match call.name, call.arguments:
            case "stock", {"part": str(part)} if re.fullmatch(r"[a-z]\d+", part):
                return Observation(text=str(_held(part)))
            case "unpack", {"amount": int(amount), "unit": str(unit)} if unit in UNITS:
                return Observation(text=str(amount * UNITS[unit]))
            case "close", {"answer": answer}:
                self._given = answer
                return Observation(text="closed", done=True)
            case "unpack", {"unit": unit}:
                known = ", ".join(UNITS)
                return Observation(text=f"no unit {unit!r}; there are: {known}", error_kind="unit")
            case _:
                return Observation(text="that does not work here", error_kind="bad_call")

    async def score(self) -> Score:
        right = self._given == self._answer
        return Score(value=float(right), verdict="correct" if right else "incorrect")

    async def close(self) -> None:
        return None


class Depot:
    """Endless tasks of two kinds; the splits have customers and numbers of their own."""

    name = "depot"
    digest = "0" * 64

    def __init__(self) -> None:
        self._answers: dict[str, int] = {}

    def tasks(self, split: Split, *, count: int, seed: int) -> Sequence[Task]:
        rng = random.Random(f"{split}:{seed}")
        who = {Split.MINE: ("Ada", "Bo"), Split.HELD_IN: ("Cy", "Di")}.get(split, ("Ed", "Flo"))
        found: list[Task] = []
        for index in range(count):
            name = rng.choice(who)
            if index % 2:
                part = f"{rng.choice('kmp')}{rng.randrange(100, 1000)}"
                prompt, answer, kind = _stock_prompt(part, name), _held(part), "shelf"
            else:
                amount, unit = rng.randrange(20, 90), rng.choice(list(UNITS))
                prompt, answer = _unpack_prompt(amount, unit, name), amount * UNITS[unit]
                kind = "freight"
            task = Task(id=f"{split}-{seed}-{index}", split=split, kind=kind, prompt=prompt)
            self._answers[task.id] = answer
            found.append(task)
        return found

    async def open(self, task: Task, *, seed: int) -> Desk:
        return Desk(self._answers[task.id])

    def examples(self) -> tuple[WorkedExample, ...]:
        shelf = [_example("shelf", _stock_prompt(p, w), "stock", {"part": p}, _held(p)) for p, w in
                 (("a11", "Gus"), ("b12", "Hal"), ("c13", "Ivy"), ("d14", "Jo"))]  # fmt: skip
        freight = [
            _example(
                "freight",
                _unpack_prompt(n, u, w),
                "unpack",
                {"amount": n, "unit": u},
                n * UNITS[u],
            )
            for n, u, w in ((2, "crate", "Gus"), (3, "pallet", "Hal"), (4, "drum", "Ivy"))
        ]
        return (*shelf, *freight)


def _example(kind: str, prompt: str, action: str, given: JsonObject, result: int) -> WorkedExample:
    return WorkedExample(
        kind=kind,
        turns=(
            ExampleTurn(role="user", content=prompt),
            ExampleTurn(role="assistant", call=ExampleCall(name=action, arguments=given)),
            ExampleTurn(role="tool", content=str(result)),
            ExampleTurn(
                role="assistant", call=ExampleCall(name="close", arguments={"answer": result})
            ),
        ),
    )


Segment = list[Message]


@dataclass
class Imitator:
    """The simulated student. `sloppy` writes calls as a Python literal. `alike` is the share of
    an example's words that a task must have for the student to see the likeness."""

    sloppy: bool = False
    alike: float = 0.5
    ref: ModelRef = ModelRef(base="imitator", revision="i" * 64)  # noqa: RUF009

    async def close(self) -> None:
        return None

    async def complete(self, request: Request) -> Reply:
        *examples, current = _segments([m for m in request.messages if m.role != "system"])
        text = self._answer(examples, current)
        return Reply(
            text=text,
            model=self.ref,
            usage=Usage(calls=1, completion_tokens=len(text) // 4),
        )

    def _answer(self, examples: list[Segment], current: Segment) -> str:
        question = current[0].content
        usable = [e for e in examples if _calls(e)]
        if not usable:
            return "It should be about seven."
        best = max(usable, key=lambda e: _overlap(e[0].content, question))
        model = best if _overlap(best[0].content, question) >= self.alike else usable[-1]
        results = [m.content for m in current[1:] if m.role != "assistant" and m.content.isdigit()]
        script = _calls(model)
        step = script[min(len(results), len(script) - 1)]
        arguments = {
            name: _filled(value, model[0].content, question, results)
            for name, value in step.arguments.items()
        }
        call = {"name": step.name, "arguments": arguments}
        return repr(call) if self.sloppy and step.name == "unpack" else json.dumps(call)


def _segments(messages: list[Message]) -> list[Segment]:
    """Worked examples and the task, each beginning with its question."""
    found: list[Segment] = [[]]
    for message in messages:
        closed = found[-1] and '"close"' in found[-1][-1].content
        if closed and message.role == "user":
            found.append([])
        found[-1].append(message)
    return found


def _calls(segment: Segment) -> list[Call]:
    return [Call.model_validate_json(m.content) for m in segment if m.role == "assistant"]


def _overlap(example: str, question: str) -> float:
    mine, wanted = (set(re.findall(r"[a-z]{2,}", t.lower())) for t in (example, question))
    return len(mine & wanted) / len(mine)


def _filled(value: object, example: str, question: str, results: list[str]) -> object:
    """The example's value replaced by what stands in its place in the task."""
    if isinstance(value, int):
        if re.search(rf"\b{value}\b", example):
            return int((re.findall(r"\b\d+\b", question) or ["0"])[0])
        return int(results[-1]) if results else 0
    codes = re.findall(r"\b[a-z]\d+\b", question)
    if re.fullmatch(r"[a-z]\d+", str(value)):
        return codes[0] if codes else question.split()[0]
    # a unit is written as the task writes it, in the plural
    unit = re.findall(r"\b\d+ (\w+)", question)
    return unit[0] if unit else "thing"


def tools() -> tuple[Tool, ...]:
    """The depot's actions as they are, but for the list of units, which only the depot checks."""
    found = [
        Tool(name=a.name, description=a.description, parameters=a.parameters, action=a.name)
        for a in ACTIONS
    ]
    found[1] = found[1].model_copy(
        update={"parameters": _schema(amount={"type": "integer"}, unit={"type": "string"})}
    )
    return tuple(found)


def sound_harness(depot: Depot) -> Harness:
    """One that works: examples of both kinds, and a unit's plural understood."""
    shown = [e.turns for e in depot.examples()]
    harness = Harness(
        name="depot",
        prompt=Prompt(
            system="Call a tool.\n{{ tools }}", examples=(shown[0], shown[1], *shown[4:])
        ),
        tools=tools(),
    )
    document = harness.document()
    parts = document["tools"]
    assert isinstance(parts, list)
    assert isinstance(parts[1], dict)
    parts[1]["arguments"] = {
        "unit": {"aliases": {f"{u}s": u for u in UNITS}, "strip": False, "lower": False}
    }
    return Harness.model_validate_json(json.dumps(document))


@dataclass
class Lab:
    """Runs episodes of one student at the depot."""

    depot: Depot
    background: Background

    async def run(
        self,
        harness: Harness,
        student: Imitator,
        *,
        split: Split = Split.MINE,
        purpose: Purpose = Purpose.MINE,
        count: int = 12,
        seed: int = 0,
    ) -> list[Trajectory]:
        found: list[Trajectory] = []
        for task in self.depot.tasks(split, count=count, seed=seed):
            session = await self.depot.open(task, seed=seed)
            key = EpisodeKey(
                task=task.id,
                prompt_digest=prompt_digest(task),
                harness=harness.digest(),
                model=student.ref.revision,
                purpose=purpose,
                seed=seed,
            )
            found.append(
                await run_episode(session, task, harness, student, key=key, sampling_seed=seed)
            )
        return found

    async def rate(self, harness: Harness, student: Imitator) -> float:
        """Share solved of fresh tasks of another split."""
        found = await self.run(
            harness, student, split=Split.HELD_IN, purpose=Purpose.GATE, seed=7, count=16
        )
        assert all(t.outcome is not Outcome.INFRA for t in found)
        return sum(t.solved for t in found) / len(found)


@pytest.fixture
async def lab() -> Lab:
    depot = Depot()
    return Lab(depot, await published(depot))


@pytest.fixture
def sound(lab: Lab) -> Harness:
    return sound_harness(lab.depot)


@pytest.fixture
def imitator() -> Callable[..., Imitator]:
    return Imitator
