"""The shop desk with a student that says its lines, on a bus with a harnessing agent."""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from evener.agents.bus import Bus
from evener.agents.harness.load import load
from evener.agents.harnessing import HarnessingAgent
from evener.agents.models.scripted import ScriptedModel
from evener.agents.record.memory import MemoryLog
from evener.agents.record.store import Record
from evener.agents.reviewers.space import ActionSpace
from evener.agents.student import Student
from evener.environments.storefront import Storefront, harness_path
from evener.environments.storefront.action import ACTIONS
from evener.protocols.digest import JsonObject, digest
from evener.protocols.harness import ExampleCall, ExampleTurn, Harness, Step, When
from evener.protocols.knowledge import FailurePattern, Guidance, Hint, Knowledge, Recipe
from evener.protocols.message import Message
from evener.protocols.model import Reply
from evener.protocols.port import Reviewer
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import Trajectory
from evener.protocols.wire import Review, ReviewRequest, RolloutFinished, RolloutRequest

Line = str | Reply


class Says:
    """A reviewer that gives its reviews in turn, the last for ever; an exception is raised."""

    def __init__(
        self, *reviews: Review | BaseException | Callable[[], Any], name: str = "says"
    ) -> None:
        self.name = name
        self.digest = digest({"reviewer": name})
        self.asked: list[tuple[ReviewRequest, int]] = []
        self._reviews = list(reviews)

    async def review(self, request: ReviewRequest, *, attempt: int = 0) -> Review:
        self.asked.append((request, attempt))
        said = self._reviews.pop(0) if len(self._reviews) > 1 else self._reviews[0]
        if isinstance(said, BaseException):
            raise said
        if callable(said):
            return await said()  # type: ignore[no-any-return]
        return said


class Shop:
    """A student and its reviewers on one bus."""

    def __init__(self, bus: Bus, store: Record, log: MemoryLog, student: ScriptedModel) -> None:
        self.bus = bus
        self.store = store
        self.log = log
        self.student = student

    async def play(
        self, harness: Harness, task: Task, *, review: str = "", seed: int = 3
    ) -> Trajectory:
        request = RolloutRequest(
            task=task,
            harness=self.store.put(harness),
            model=self.student.ref,
            purpose=Purpose.COLLECT,
            seed=seed,
            review=review,
        )
        found = await self.bus.ask("student", request, RolloutFinished)
        return self.store.get(Trajectory, found.episode.trajectory)

    @property
    def reviews(self) -> list[JsonObject]:
        """The private record."""
        return self.log.of("review")


@asynccontextmanager
async def open_shop(
    folder: Path,
    lines: Sequence[Line] | Callable[[Any], Any],
    *reviewers: Reviewer,
    target: Harness | None = None,
    timeout_s: float = 30.0,
) -> AsyncIterator[Shop]:
    log, student = MemoryLog(), ScriptedModel(lines)
    with Record.open(folder / "events.db") as store:
        bus = Bus(log)
        bus.join("student", Student(Storefront(), student, store))
        if reviewers:
            space = ActionSpace(target or load(harness_path("target")), ACTIONS)
            bus.join("harnessing", HarnessingAgent(reviewers, space, log, timeout_s=timeout_s))
        async with bus:
            yield Shop(bus, store, log, student)


@pytest.fixture
def shop(tmp_path: Path) -> Callable[..., AbstractAsyncContextManager[Shop]]:
    """A student with its lines, and reviewers."""
    return lambda lines, *reviewers, **options: open_shop(tmp_path, lines, *reviewers, **options)


@pytest.fixture
def says() -> type[Says]:
    return Says


@pytest.fixture(scope="session")
def target() -> Harness:
    return load(harness_path("target"))


@pytest.fixture(scope="session")
def optimized() -> Harness:
    return load(harness_path("optimized"))


@pytest.fixture(scope="session")
def space(target: Harness) -> ActionSpace:
    return ActionSpace(target, ACTIONS)


@pytest.fixture(scope="session")
def tasks() -> dict[str, Task]:
    """A mining task of every kind."""
    return {task.kind: task for task in Storefront().tasks(Split.MINE, count=4, seed=9)}


def ask_about(
    candidate: str,
    *told: str,
    prompt: str = "?",
    mean_logprob: float | None = None,
    replaced: Collection[int] = (),
) -> ReviewRequest:
    """A request after responses and results in turn; a reviewer wrote the `replaced` responses."""
    visible = tuple(
        Message(role="user", content=text, origin="observation")
        if at % 2
        else Message(
            role="assistant",
            content=text,
            origin="reviewer" if at // 2 in replaced else "student",
            sampled=True,
        )
        for at, text in enumerate(told)
    )
    return ReviewRequest(
        review="r",
        prompt=prompt,
        visible=visible,
        candidate=candidate,
        turn=len(told) // 2,
        mean_logprob=mean_logprob,
        replaced=len(replaced),
    )


@pytest.fixture
def about() -> Callable[..., ReviewRequest]:
    return ask_about


def example(*turns: tuple[str, Any]) -> tuple[ExampleTurn, ...]:
    """A worked example: ("user", text), ("call", {...}), ("tool", text)."""
    return tuple(
        ExampleTurn(role="assistant", call=ExampleCall(**content))
        if role == "call"
        else ExampleTurn.model_validate({"role": role, "content": content})
        for role, content in turns
    )


def knowledge_of(optimized: Harness, target: Harness) -> Knowledge:
    """What K says of the desk's tools, of prices and of answers, written by hand."""
    tools = {tool.name: tool for tool in optimized.tools}
    quote, convert, lookup = tools["quote"], tools["convert_any"], tools["lookup"]
    passed = {name: f"{{{{ {name} }}}}" for name in ("value", "from", "to")}
    return Knowledge(
        name="K",
        source=optimized.digest(),
        target=target.digest(),
        recipes=(
            Recipe(
                tool="quote",
                text="Look the price of one piece up first, then multiply it by the quantity.",
                parameters=quote.parameters,
                steps=quote.steps or (),
                mends=quote.arguments,
            ),
            Recipe(
                tool="convert_any",
                text="Convert with the proper name of each unit.",
                parameters=convert.parameters,
                steps=(Step(action="convert", arguments=passed),),
                mends=convert.arguments,
            ),
            Recipe(
                tool="lookup",
                text="",
                parameters=lookup.parameters,
                steps=(Step(action="lookup", arguments={"item": "{{ item }}"}),),
                mends=lookup.arguments,
            ),
        ),
        hints=(
            Hint(name="near miss", rule="unreadable", text="It cannot be read.", source="x"),
            Hint(
                name="verify",
                rule="answer_differs",
                settings={"final": ["final"]},
                text="The answer is not {{ last }}.",
                source="x",
            ),
            Hint(name="broken", rule="no such rule", text="", source="x"),
        ),
        guidance=(
            Guidance(
                skill="price",
                when=When(words=("price", "pieces")),
                text="Ask for the price of one piece before anything is multiplied by anything.",
                examples=(
                    example(
                        ("user", "Anna wants 79 pieces of green candle. What is the total price?"),
                        ("call", {"name": "lookup", "arguments": {"item": "green candle"}}),
                        ("tool", "52"),
                        ("call", {"name": "calculator", "arguments": {"expression": "79*52"}}),
                        ("tool", "4108"),
                        ("call", {"name": "final", "arguments": {"answer": 4108}}),
                    ),
                ),
            ),
        ),
        patterns=(
            FailurePattern(
                name="answer",
                trigger="the task asks for a number",
                evidence="the answer that is handed in differs from the last result on view",
                intervention="hand the last result in, exactly as it was given",
            ),
        ),
    )


@pytest.fixture(scope="session")
def knowledge(optimized: Harness, target: Harness) -> Knowledge:
    return knowledge_of(optimized, target)
