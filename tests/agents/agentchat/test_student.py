"""An agent inside an episode: the harness's episode, the agent's loop."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.memory import ListMemory, MemoryContent

from evener.agents.agentchat import ClientModel, ModelClient, Seat, agent_episode
from evener.agents.harness.loop import run_episode
from evener.agents.models.scripted import ScriptedModel
from evener.environments.storefront import Storefront
from evener.protocols.error import ConfigError, HarnessError
from evener.protocols.harness import Harness
from evener.protocols.message import Call
from evener.protocols.model import ModelRef, Reply, StopReason
from evener.protocols.task import Split, Task
from evener.protocols.trajectory import Outcome, Trajectory

REF = ModelRef(base="said", revision="0")
FINAL = Call(name="final", arguments={"answer": -1})


def making(*calls: Call) -> Reply:
    return Reply(text="", calls=calls, stop_reason=StopReason.TOOL_CALLS, model=REF)


def task_of(desk: Storefront, kind: str = "price") -> Task:
    return next(t for t in desk.tasks(Split.TEST, count=12, seed=0) if t.kind == kind)


def restarted(seat: Seat) -> AssistantAgent:
    """One round of tools and its run is over: AgentChat's default."""
    return AssistantAgent(
        "student",
        seat.client,
        workbench=seat.workbench,
        model_context=seat.context,
        system_message=None,
    )


def streaming(seat: Seat) -> AssistantAgent:
    return AssistantAgent(
        "student",
        seat.client,
        workbench=seat.workbench,
        model_context=seat.context,
        system_message=None,
        model_client_stream=True,
        max_tool_iterations=3,
    )


def plain(trajectory: Trajectory) -> Any:
    """What happened, without whose weights and how long it took."""
    document = trajectory.model_dump(mode="json")
    for event in document["events"]:
        event.pop("usage", None)
        event.pop("elapsed", None)
    return [document[name] for name in ("messages", "events", "outcome", "score")]


async def ordinary(
    desk: Storefront, task: Task, native: Harness, replies: Sequence[Reply | str], like: Trajectory
) -> Trajectory:
    """The same replies in an episode without an agent."""
    session = await desk.open(task, seed=0)
    model = ClientModel(ModelClient(ScriptedModel(replies)), name="m")
    try:
        return await run_episode(session, task, native, model, key=like.key, sampling_seed=0)
    finally:
        await session.close()


UNKNOWN = Call(name="prices", arguments={"item": "x"})
WRONG = Call(name="lookup", arguments={"thing": 3})
SUM = Call(name="calculator", arguments={"expression": "2*3"})
CUT = Reply(text='{"name"', stop_reason=StopReason.LENGTH, model=REF)


@pytest.mark.parametrize("hire", [None, restarted, streaming], ids=["one run", "runs", "stream"])
@pytest.mark.parametrize(
    "replies",
    [
        [making(SUM), making(FINAL)],
        [making(UNKNOWN), making(WRONG), making(FINAL)],
        [making(SUM, SUM, UNKNOWN), making(SUM, FINAL, SUM)],
        [CUT, making(SUM), making(FINAL)],
        ["I do not know", making(FINAL)],
        ["I do not know", "I still do not"],
        [making(SUM)] * 6,
        [making(SUM, WRONG)] * 2 + [CUT, "so", making(FINAL)],
    ],
    ids=["right", "refused", "several", "cut", "words", "no call", "too long", "all of it"],
)
async def test_the_episode_is_the_one_that_its_model_has_without_an_agent(
    desk: Storefront, native: Harness, hire: Any, replies: list[Reply | str]
) -> None:
    task = task_of(desk)
    client = ModelClient(ScriptedModel(replies))
    more = () if hire is None else (hire,)
    had = await agent_episode(desk, task, native, client, *more, name="m")
    expected = await ordinary(desk, task, native, replies, had)
    assert plain(had) == plain(expected)
    assert had.usage.made == expected.usage.made
    assert len(asyncio.all_tasks()) == 1


async def test_an_agent_that_is_right_is_scored_right(desk: Storefront, native: Harness) -> None:
    task = task_of(desk)
    gold = [making(call) for call in desk.gold(task)]
    assert len(gold) > 1
    model = ScriptedModel(gold)
    had = await agent_episode(desk, task, native, ModelClient(model), name="m", seed=4)
    assert had.outcome is Outcome.SOLVED
    assert had.reward == 1
    assert had.key.seed == 4
    assert had.model.base == "m"
    # what was recorded as shown is what its model saw, word for word
    for request, event in zip(
        model.requests, [e for e in had.events if e.kind == "replied"], strict=True
    ):
        shown = [had.messages[index] for index in event.context]
        assert [(m.role, m.content) for m in request.messages] == [
            (m.role, m.content) for m in shown
        ]
    assert {tool.name for tool in model.requests[0].tools} <= {t.name for t in native.tools}
    assert model.requests[0].sampling.max_tokens == native.middleware.loop.max_reply_tokens


async def test_a_client_that_numbers_its_calls_as_it_likes(
    desk: Storefront, native: Harness, foreign: Any, answer: Any
) -> None:
    task = task_of(desk)
    gold = desk.gold(task)
    client = foreign(
        *(
            answer([FunctionCall(id="", name=c.name, arguments=json.dumps(c.arguments))])
            for c in gold
        )
    )
    had = await agent_episode(desk, task, native, client, name="m")
    assert had.outcome is Outcome.SOLVED
    assert had.usage.prompt_tokens == 7 * len(gold)
    assert client.asked[0][2] == {"temperature": 0.0, "max_tokens": 44}


async def test_a_client_that_fails_is_no_failure_of_the_student(
    desk: Storefront, native: Harness, foreign: Any, answer: Any
) -> None:
    calls = [FunctionCall(id="a", name="calculator", arguments='{"expression": "1+1"}')]
    client = foreign(answer(calls, "function_calls"), RuntimeError("gone"))
    had = await agent_episode(desk, task_of(desk), native, client, name="m")
    assert had.outcome is Outcome.INFRA
    assert had.reward is None
    assert had.events[-1].kind == "ended"
    assert "gone" in had.events[-1].detail


class Refused(Exception):
    status_code = 400


async def test_a_prompt_that_does_not_fit_ends_the_episode_under_its_own_name(
    desk: Storefront, native: Harness, foreign: Any
) -> None:
    client = foreign(Refused("maximum context length is 9 tokens"))
    had = await agent_episode(desk, task_of(desk), native, client, name="m")
    assert had.outcome is Outcome.TRUNCATED
    assert had.events[-1].kind == "ended"
    assert had.events[-1].reason == "context_exceeded"


async def test_agents_beside_each_other_do_not_hear_each_other(
    desk: Storefront, native: Harness
) -> None:
    tasks = desk.tasks(Split.TEST, count=9, seed=1)

    async def one(task: Task) -> Trajectory:
        gold = [making(call) for call in desk.gold(task)]
        client = ModelClient(ScriptedModel(gold, delay=0.001))
        return await agent_episode(desk, task, native, client, name="m")

    had = await asyncio.gather(*map(one, tasks))
    assert [t.outcome for t in had] == [Outcome.SOLVED] * 9
    assert [t.task.id for t in had] == [task.id for task in tasks]


async def test_an_agent_may_reflect_on_what_its_tools_say(
    desk: Storefront, native: Harness
) -> None:
    def reflecting(seat: Seat) -> AssistantAgent:
        return AssistantAgent(
            "student",
            seat.client,
            workbench=seat.workbench,
            model_context=seat.context,
            system_message=None,
            reflect_on_tool_use=True,
        )

    model = ScriptedModel([making(SUM), "so it is 6", making(FINAL)])
    task = task_of(desk)
    had = await agent_episode(desk, task, native, ModelClient(model), reflecting, name="m")
    assert [e.reason for e in had.events if e.kind == "ended"] == ["final"]
    assert [len(request.tools) > 0 for request in model.requests] == [True, False, True]


def with_words(seat: Seat) -> AssistantAgent:
    return AssistantAgent(
        "student", seat.client, workbench=seat.workbench, model_context=seat.context
    )


def with_tools(seat: Seat) -> AssistantAgent:
    async def secret() -> str:
        """Says it."""
        return "42"

    return AssistantAgent(
        "student",
        seat.client,
        tools=[secret],
        model_context=seat.context,
        system_message=None,
    )


def with_another_model(seat: Seat) -> AssistantAgent:
    other = ModelClient(ScriptedModel(["hello"]))
    return AssistantAgent("student", other, model_context=seat.context, system_message=None)


@pytest.mark.parametrize(
    ("hire", "said"),
    [
        (with_words, "system_message=None"),
        (with_tools, "secret"),
        (with_another_model, "seat.client"),
    ],
)
async def test_an_agent_that_goes_around_its_seat_is_refused(
    desk: Storefront, native: Harness, hire: Any, said: str
) -> None:
    client = ModelClient(ScriptedModel([making(FINAL)]))
    with pytest.raises(ConfigError, match=said):
        await agent_episode(desk, task_of(desk), native, client, hire, name="m")
    assert len(asyncio.all_tasks()) == 1


async def test_what_an_agent_remembers_is_not_shown(desk: Storefront, native: Harness) -> None:
    memory = ListMemory()
    await memory.add(MemoryContent(content="the answer is 42", mime_type="text/plain"))

    def with_memory(seat: Seat) -> AssistantAgent:
        return AssistantAgent(
            "student",
            seat.client,
            workbench=seat.workbench,
            model_context=seat.context,
            system_message=None,
            memory=[memory],
        )

    model = ScriptedModel([making(FINAL)])
    await agent_episode(desk, task_of(desk), native, ModelClient(model), with_memory, name="m")
    assert "42" not in "".join(m.content for m in model.requests[0].messages)


async def test_a_harness_of_text_calls_is_refused(desk: Storefront, native: Harness) -> None:
    wire = native.middleware.protocol.model_copy(update={"format": "json"})
    middleware = native.middleware.model_copy(update={"protocol": wire})
    text = native.model_copy(update={"middleware": middleware})
    client = ModelClient(ScriptedModel([]))
    with pytest.raises(HarnessError, match="native"):
        await agent_episode(desk, task_of(desk), text, client, name="m")


@pytest.mark.parametrize("at", [0, 1])
async def test_an_episode_that_is_cancelled_leaves_nothing_behind(
    desk: Storefront, native: Harness, at: int
) -> None:
    asked = asyncio.Event()
    made = [making(SUM)] * at

    async def reply(request: Any) -> Reply:
        if made:
            return made.pop()
        asked.set()
        await asyncio.sleep(60)
        raise AssertionError("too late")

    client = ModelClient(ScriptedModel(reply))
    had = asyncio.create_task(agent_episode(desk, task_of(desk), native, client, name="m"))
    await asked.wait()
    had.cancel()
    with pytest.raises(asyncio.CancelledError):
        await had
    assert len(asyncio.all_tasks()) == 1
