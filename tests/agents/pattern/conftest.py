"""Failed episodes written down event by event, at a made-up library desk."""

from collections.abc import Callable, Sequence

import pytest

from evener.agents.pattern import Background
from evener.protocols.digest import JsonObject
from evener.protocols.event import Event
from evener.protocols.harness import ExampleCall, ExampleTurn, Harness, Prompt, Tool
from evener.protocols.model import ModelRef, Usage
from evener.protocols.port import ActionSpec, WorkedExample
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Outcome, Score, Trajectory, prompt_digest


def schema(**properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


ACTIONS = (
    ActionSpec(
        name="find",
        description="The shelf mark of a title.",
        parameters=schema(title={"type": "string"}),
    ),
    ActionSpec(
        name="renew",
        description="Renews a loan for a span.",
        parameters=schema(
            card={"type": "integer"}, span={"type": "string", "enum": ["week", "month", "year"]}
        ),
    ),
    ActionSpec(
        name="reply",
        description="Ends the task.",
        parameters=schema(text={"type": "string"}),
        final=True,
    ),
)


def example(kind: str, question: str, name: str, given: JsonObject, result: str) -> WorkedExample:
    return WorkedExample(
        kind=kind,
        turns=(
            ExampleTurn(role="user", content=question),
            ExampleTurn(role="assistant", call=ExampleCall(name=name, arguments=given)),
            ExampleTurn(role="tool", content=result),
            ExampleTurn(
                role="assistant", call=ExampleCall(name="reply", arguments={"text": result})
            ),
        ),
    )


EXAMPLES = (
    example("where", "On which shelf is the book Emma?", "find", {"title": "emma"}, "B7"),
    example("where", "On which shelf is the book Ulysses?", "find", {"title": "ulysses"}, "C1"),
    example("where", "On which shelf is the book Candide?", "find", {"title": "candide"}, "A3"),
    example(
        "renewal", "Card 12 keeps its loan a week.", "renew", {"card": 12, "span": "week"}, "ok"
    ),
    example(
        "renewal", "Card 31 keeps its loan a month.", "renew", {"card": 31, "span": "month"}, "ok"
    ),
)
BACKGROUND = Background(actions=ACTIONS, examples=EXAMPLES)

Episode = Callable[..., Trajectory]


def desk(*, shown: Sequence[WorkedExample] = EXAMPLES) -> Harness:
    """A sound harness of the desk with those examples at the prompt."""
    return Harness(
        name="desk",
        prompt=Prompt(system="Call a tool.\n{{ tools }}", examples=tuple(e.turns for e in shown)),
        tools=tuple(
            Tool(name=a.name, description=a.description, parameters=a.parameters, action=a.name)
            for a in ACTIONS
        ),
    )


def failed(
    harness: Harness,
    *events: Event,
    kind: str = "where",
    prompt: str = "Which shelf holds Middlemarch?",
    outcome: Outcome = Outcome.FAILED,
) -> Trajectory:
    """A failed mining episode with these events."""
    task = Task(id="t1", split=Split.MINE, kind=kind, prompt=prompt)
    key = EpisodeKey(
        task=task.id,
        prompt_digest=prompt_digest(task),
        harness=harness.digest(),
        model="m",
        purpose=Purpose.MINE,
        seed=0,
    )
    return Trajectory(
        id=key.id(),
        key=key,
        task=task,
        model=ModelRef(base="m", revision="m"),
        messages=(),
        events=events,
        outcome=outcome,
        score=Score(value=0.0, verdict="incorrect"),
        usage=Usage(),
    )


@pytest.fixture
def background() -> Background:
    return BACKGROUND


@pytest.fixture
def harness() -> Harness:
    return desk()


@pytest.fixture
def make_desk() -> Callable[..., Harness]:
    return desk


@pytest.fixture
def episode() -> Episode:
    return failed
