"""A desk that takes a dozen calls, and a student that answers as a provider's server or in text."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pytest

from evener.agents.harness.loop import run_episode
from evener.agents.harness.replay import views
from evener.agents.models.remote.border import read_reply
from evener.protocols.digest import JsonObject
from evener.protocols.harness import Harness, Hooks, Loop, Middleware, Tool, WireFormat
from evener.protocols.message import Call
from evener.protocols.model import ModelRef, Reply, Request
from evener.protocols.port import ActionSpec, Observation
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Score, Trajectory, prompt_digest

REF = ModelRef(base="said", revision="0" * 8)
STRING = {"type": "string"}


def takes(**properties: Any) -> JsonObject:
    return {"type": "object", "properties": properties, "required": [*properties]}


SCHEMAS: dict[str, JsonObject] = {
    "write_note": takes(path=STRING, text=STRING),
    "add_event": takes(day=STRING, title=STRING),
    "lookup": takes(key=STRING),
    "now": takes(),
    "sum": takes(xs={"type": "array", "items": {"type": "number"}}),
    "tag": takes(label=STRING),
    "save_file": takes(path=STRING, body=STRING),
    "roll": takes(d={"type": "integer"}),
    "search": takes(q=STRING, filter={"type": "object"}),
    "open": takes(rank={"type": "integer"}),
    "drop": takes(),
    "final": takes(),
}


TOOLS = tuple(Tool(name=name, parameters=schema, action=name) for name, schema in SCHEMAS.items())
FINAL = '{"name": "final", "arguments": {}}'
LOOP, NO_HOOKS = Loop(max_turns=5), Hooks()
Line: TypeAlias = str | list[tuple[str, Any]] | JsonObject
ENDS: dict[str, list[Line]] = {
    "json": [FINAL],
    "hermes": [f"<tool_call>\n{FINAL}\n</tool_call>"],
    "native": [[("final", "{}")]],
}


class Desk:
    """Takes every call that fits and says which it was; `final` ends the episode."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def observation(self) -> Observation:
        return Observation(text="")

    def actions(self) -> tuple[ActionSpec, ...]:
        return tuple(
            ActionSpec(name=name, description=name, parameters=schema, final=name == "final")
            for name, schema in SCHEMAS.items()
        )

    async def act(self, call: Call) -> Observation:
        self.calls.append(call)
        return Observation(text=f"result {len(self.calls)}", done=call.name == "final")

    async def score(self) -> Score:
        done = any(call.name == "final" for call in self.calls)
        return Score(value=float(done), verdict="correct" if done else "incorrect")

    async def close(self) -> None:
        pass


class Student:
    """Says its lines and then makes the call that ends the episode. For a native protocol lines
    are a provider's bodies, which are read where any body is read."""

    ref = REF

    def __init__(self, lines: Sequence[Line], protocol: WireFormat) -> None:
        self.lines = [*lines, *ENDS[protocol.format]]
        self.native = protocol.format == "native"
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        line = self.lines.pop(0)
        if isinstance(line, str) and not self.native:
            return Reply(text=line, model=REF)
        if isinstance(line, str):
            line = provider_body(text=line)
        elif isinstance(line, list):
            line = provider_body(*line)
        return read_reply(line, request, ref=REF, price=lambda _, __: None, seconds=0, wall=0)

    async def close(self) -> None:
        pass


class Played:
    """A finished episode; `made` are the calls that were executed but for the one that ends it."""

    def __init__(self, trajectory: Trajectory, desk: Desk, student: Student) -> None:
        self.trajectory = trajectory
        self.made = [(c.name, c.arguments) for c in desk.calls if c.name != "final"]
        self.requests = student.requests

    def events(self, kind: str) -> list[Any]:
        return [event for event in self.trajectory.events if event.kind == kind]

    @property
    def parsed(self) -> Any:
        """The first reading that was followed."""
        return self.events("parsed")[0]

    @property
    def fault(self) -> str:
        """Why the first reply that could not be read could not."""
        return str(self.events("parse_failed")[0].fault)

    @property
    def told(self) -> str:
        """What stands behind the first reply when the student is asked again."""
        return "\n".join(m.content for m in self.requests[1].messages[2:])


async def play_calls(
    protocol: WireFormat,
    *lines: Line,
    tools: Sequence[Tool] = TOOLS,
    loop: Loop = LOOP,
    hooks: Hooks = NO_HOOKS,
) -> Played:
    """Play an episode, which seen again is what the student was shown."""
    middleware = Middleware(protocol=protocol, loop=loop, hooks=hooks)
    harness = Harness(name="calls", tools=tuple(tools), middleware=middleware)
    task = Task(id="t", split=Split.MINE, kind="k", prompt="Do it.")
    key = EpisodeKey(
        task="t",
        prompt_digest=prompt_digest(task),
        harness=harness.digest(),
        model=REF.revision,
        purpose=Purpose.MINE,
        seed=7,
    )
    desk, student = Desk(), Student(lines, protocol)
    trajectory = await run_episode(desk, task, harness, student, key=key, sampling_seed=7)
    replayed = views(harness, trajectory)
    assert [view.context for view in replayed] == [r.messages for r in student.requests]
    for view, read in zip(replayed, _read(trajectory), strict=True):
        assert (view.fault == "not_readable") is not read
    return Played(trajectory, desk, student)


def _read(trajectory: Trajectory) -> list[bool]:
    """Whether each reply was read, in order."""
    kinds = ("parsed", "parse_failed")
    return [event.kind == "parsed" for event in trajectory.events if event.kind in kinds]


def provider_body(
    *calls: tuple[str, Any], text: str | None = None, written: int = 9, thought: str | None = None
) -> JsonObject:
    """A chat completion with these calls, all under one id, or with this text."""
    made: list[Any] = [
        {"id": "call_0", "type": "function", "function": {"name": name, "arguments": arguments}}
        for name, arguments in calls
    ]
    message: JsonObject = {"role": "assistant", "content": text}
    message |= {"tool_calls": made} if made else {}
    message |= {"reasoning_content": thought} if thought is not None else {}
    return {
        "choices": [{"message": message, "finish_reason": "tool_calls" if made else "stop"}],
        "usage": {"prompt_tokens": 30, "completion_tokens": written},
    }


@pytest.fixture
def play() -> Callable[..., Any]:
    """Play an episode under a protocol: texts, a provider's calls, or whole bodies."""
    return play_calls


@pytest.fixture
def body() -> Callable[..., JsonObject]:
    """A provider's answer."""
    return provider_body
