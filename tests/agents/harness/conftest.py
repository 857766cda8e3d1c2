"""A desk with a calculator, a price list and a bell, and a student who says what it is told to."""

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from evener.agents.harness.load import parse_yaml
from evener.agents.harness.loop import run_episode
from evener.protocols.digest import JsonObject
from evener.protocols.harness import Harness
from evener.protocols.message import Call
from evener.protocols.model import ModelRef, Reply, Request
from evener.protocols.port import ActionSpec, Observation
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Score, Trajectory, prompt_digest

STUDENT = ModelRef(base="said", revision="0" * 8)
PRICES = {"apple": "3", "pear": "4 dollars"}


def spec(name: str, *, final: bool = False, **arguments: str) -> ActionSpec:
    properties: dict[str, Any] = {key: {"type": kind} for key, kind in arguments.items()}
    schema: JsonObject = {"type": "object", "properties": properties, "required": [*arguments]}
    return ActionSpec(name=name, description=name, parameters=schema, final=final)


class Desk:
    """One episode. `answer` is the right one; `faults` are raised or shown instead of results."""

    def __init__(
        self,
        task: Task,
        answer: str,
        faults: Sequence[Observation | Exception],
        screen: str | None = None,
    ) -> None:
        self.screen = task.prompt if screen is None else screen
        self.answer = answer
        self.faults = list(faults)
        self.given: str | None = None
        self.calls: list[Call] = []
        self.running = 0

    def observation(self) -> Observation:
        return Observation(text=self.screen)

    def actions(self) -> tuple[ActionSpec, ...]:
        return (
            spec("calculator", expression="string"),
            spec("lookup", item="string"),
            spec("wait", seconds="number"),
            spec("final", final=True, answer="string"),
        )

    async def act(self, call: Call) -> Observation:
        self.calls.append(call)
        if self.faults:
            fault = self.faults.pop(0)
            if isinstance(fault, Exception):
                raise fault
            return fault
        match call.name, call.arguments:
            case "calculator", {"expression": str(text)} if re.fullmatch(r"[\d+*]+", text):
                total = sum(_product(part) for part in text.split("+"))
                return Observation(text=str(total))
            case "lookup", {"item": str(item)} if item in PRICES:
                return Observation(text=PRICES[item])
            case "wait", {"seconds": int() | float() as seconds}:
                self.running += 1
                try:
                    await asyncio.sleep(seconds)
                finally:
                    self.running -= 1
                return Observation(text="waited")
            case "final", {"answer": answer}:
                self.given = str(answer)
                return Observation(text="done", done=True)
            case name, arguments:
                return Observation(text=f"{name}: bad {arguments}", error_kind="bad_arguments")

    async def score(self) -> Score:
        right = self.given == self.answer
        return Score(value=1.0 if right else 0.0, verdict="correct" if right else "incorrect")

    async def close(self) -> None:
        pass


class Deaf(Desk):
    """A desk that cannot read a last reply."""

    def answer_in(self, reply: str) -> Call | None:
        raise ValueError(f"{len(reply)} letters are too many")


def _product(text: str) -> int:
    made = 1
    for factor in text.split("*"):
        made *= int(factor)
    return made


class Student:
    """Says its lines in turn, and the last one for ever. Keeps the requests it was asked."""

    def __init__(self, lines: Sequence[str | Reply | Exception]) -> None:
        self.lines = list(lines)
        self.requests: list[Request] = []

    @property
    def ref(self) -> ModelRef:
        return STUDENT

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        line = self.lines.pop(0) if len(self.lines) > 1 else self.lines[0]
        if isinstance(line, Exception):
            raise line
        return Reply(text=line, model=STUDENT) if isinstance(line, str) else line

    async def close(self) -> None:
        pass


class Played:
    """A finished episode with the desk and the student of it."""

    def __init__(self, trajectory: Trajectory, desk: Desk, student: Student) -> None:
        self.trajectory = trajectory
        self.desk = desk
        self.student = student

    def events(self, kind: str) -> list[Any]:
        return [event for event in self.trajectory.events if event.kind == kind]

    @property
    def told(self) -> list[str]:
        """What the student was told after each of its replies."""
        origins = ("observation", "hook")
        return [m.content for m in self.trajectory.messages if m.origin in origins]

    @property
    def ended(self) -> str:
        return str(self.events("ended")[0].reason)


def make_key(harness: Harness, task: Task, *, attempt: int = 0, seed: int = 7) -> EpisodeKey:
    return EpisodeKey(
        task=task.id,
        prompt_digest=prompt_digest(task),
        harness=harness.digest(),
        model=STUDENT.revision,
        purpose=Purpose.MINE,
        seed=seed,
        attempt=attempt,
    )


async def play_episode(
    harness: Harness,
    lines: Sequence[str | Reply | Exception],
    *,
    question: str = "What is 2*3?",
    answer: str = "6",
    faults: Sequence[Observation | Exception] = (),
    attempt: int = 0,
    screen: str | None = None,
    sits: "type[Desk] | None" = None,
    named: str = "t1",
) -> Played:
    task = Task(id=named, split=Split.MINE, kind="calc", prompt=question)
    desk, student = (sits or Desk)(task, answer, faults, screen), Student(lines)
    key = make_key(harness, task, attempt=attempt)
    trajectory = await run_episode(desk, task, harness, student, key=key, sampling_seed=key.seed)
    return Played(trajectory, desk, student)


TOOLS = """
tools:
- name: calculator
  description: works an expression out
  parameters:
    type: object
    properties: {expression: {type: string}}
    required: [expression]
  action: calculator
- name: lookup
  description: gives a price
  parameters:
    type: object
    properties: {item: {type: string}}
    required: [item]
  action: lookup
- name: final
  description: gives the answer
  parameters:
    type: object
    properties: {answer: {type: string}}
    required: [answer]
  action: final
"""


def desk_harness(more: str = "", *, tools: str = TOOLS) -> Harness:
    return parse_yaml(f"name: desk\n{tools}{more}", where="desk.yaml")


@pytest.fixture
def harness() -> Callable[..., Harness]:
    """A harness for the desk: three tools and whatever else the YAML says."""
    return desk_harness


@pytest.fixture
def play() -> Callable[..., Any]:
    """Play an episode of a harness with a student that says its lines."""
    return play_episode


@pytest.fixture
def deaf() -> type[Desk]:
    return Deaf


@pytest.fixture
def actions() -> tuple[ActionSpec, ...]:
    return Desk(Task(id="t", split=Split.MINE, prompt=""), "", ()).actions()
