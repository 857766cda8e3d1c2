"""An evener model in AgentChat's hands."""

import asyncio
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken, FunctionCall, Image
from autogen_core.models import (
    AssistantMessage,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    SystemMessage,
    UserMessage,
)

from evener.agents.agentchat import ModelClient, provider_client
from evener.agents.models.remote.faults import Answered, FaultServer
from evener.agents.models.scripted import ScriptedModel
from evener.protocols.error import ConfigError, ModelError
from evener.protocols.message import Call
from evener.protocols.model import ModelRef, Reply, Sampling, StopReason, Usage

REF = ModelRef(base="said", revision="0")


async def price(item: str) -> str:
    """The price of an item."""
    return {"red chair": "11"}.get(item, "unknown")


def calling(**arguments: Any) -> Reply:
    return Reply(
        text="let me look",
        calls=(Call(name="price", arguments=arguments),),
        stop_reason=StopReason.TOOL_CALLS,
        usage=Usage(calls=1, prompt_tokens=10, completion_tokens=4),
        model=REF,
    )


async def test_an_assistant_calls_its_tool_and_answers() -> None:
    model = ScriptedModel([calling(item="red chair"), "33"])
    client = ModelClient(model)
    agent = AssistantAgent("clerk", client, tools=[price], max_tool_iterations=3)
    done = await agent.run(task="3 red chairs?")
    assert done.messages[-1].to_text() == "33"
    first, second = model.requests
    assert first.tools[0].name == "price"
    assert first.tools[0].parameters["required"] == ["item"]
    assert [(m.role, m.content) for m in second.messages[1:]] == [
        ("user", "3 red chairs?"),
        ("assistant", "let me look"),
        ("tool", "11"),
    ]
    (made,) = second.messages[2].calls
    assert made.arguments == {"item": "red chair"}
    assert made.id == second.messages[3].call_id == "call_0"
    assert client.total_usage().prompt_tokens > 10


async def test_a_reply_that_was_cut_is_text_and_says_so() -> None:
    cut = Reply(text='{"name": "price"', stop_reason=StopReason.LENGTH, model=REF)
    done = await ModelClient(ScriptedModel([cut])).create([UserMessage(content="?", source="u")])
    assert (done.finish_reason, done.content) == ("length", '{"name": "price"')


async def test_what_a_call_wants_of_sampling_goes_before_what_was_set() -> None:
    model = ScriptedModel(["a", "b", "c", "d"])
    client = ModelClient(model, sampling=Sampling(max_tokens=9, temperature=0.5))
    asked = [UserMessage(content="?", source="u")]
    await client.create(asked)
    await client.create(asked, extra_create_args={"temperature": 0.0, "stop": "END"})
    await client.create(asked, extra_create_args={"stop": None})
    await client.create(asked, extra_create_args={"stop": ["A", "B"]})
    first, second, none, two = (request.sampling for request in model.requests)
    assert (none.stop, two.stop) == ((), ("A", "B"))
    assert (first.max_tokens, first.temperature) == (9, 0.5)
    assert (second.max_tokens, second.temperature, second.stop) == (9, 0.0, ("END",))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"json_output": True}, "json_output"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"extra_create_args": {"top_k": 5}}, "top_k"),
        ({"extra_create_args": {"max_tokens": "many"}}, "max_tokens"),
        ({"extra_create_args": {"stop": 5}}, "stop"),
    ],
)
async def test_what_it_cannot_do_is_refused_before_any_call(more: Any, said: str) -> None:
    model = ScriptedModel(["never"])
    with pytest.raises(ConfigError, match=said):
        await ModelClient(model).create([UserMessage(content="?", source="u")], **more)
    assert model.requests == []


async def test_an_image_is_refused() -> None:
    from PIL.Image import new

    picture = Image.from_pil(new("RGB", (1, 1)))
    with pytest.raises(ConfigError, match="image"):
        await ModelClient(ScriptedModel(["never"])).create(
            [UserMessage(content=["see", picture], source="u")]
        )


async def test_no_tools_are_offered_where_none_are_to_be_chosen() -> None:
    model = ScriptedModel(["said"])
    await ModelClient(model).create(
        [UserMessage(content="?", source="u")],
        tools=[{"name": "price", "description": ""}],
        tool_choice="none",
    )
    assert model.requests[0].tools == ()


async def test_calls_of_a_conversation_that_cannot_be_read_become_text() -> None:
    model = ScriptedModel(["said"])
    odd = [FunctionCall(id="x", name="price", arguments='{"item": ')]
    told = FunctionExecutionResult(content="bad JSON", name="price", call_id="x", is_error=True)
    await ModelClient(model).create(
        [
            SystemMessage(content="s"),
            AssistantMessage(content=odd, source="a"),
            FunctionExecutionResultMessage(content=[told]),
        ]
    )
    reply = model.requests[0].messages[1]
    assert reply.calls == ()
    assert '{"item": ' in reply.content


async def test_a_token_cancels_the_call_that_is_under_way() -> None:
    client = ModelClient(ScriptedModel(["late"], delay=60))
    token = CancellationToken()
    asked = asyncio.create_task(
        client.create([UserMessage(content="?", source="u")], cancellation_token=token)
    )
    await asyncio.sleep(0.01)
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked


async def test_a_stream_is_the_text_and_then_the_result() -> None:
    client = ModelClient(ScriptedModel(["hello there", calling(item="x")]))
    asked = [UserMessage(content="?", source="u")]
    pieces = [piece async for piece in client.create_stream(asked)]
    assert pieces[0] == "hello there"
    assert isinstance(pieces[1], CreateResult)
    (only,) = [piece async for piece in client.create_stream(asked)]
    assert isinstance(only, CreateResult)
    assert only.thought == "let me look"
    assert client.actual_usage().completion_tokens == 2 + 4


async def test_what_is_left_of_the_window_is_an_estimate_and_needs_a_window() -> None:
    asked = [UserMessage(content="x" * 40, source="u")]
    client = ModelClient(ScriptedModel([]), window=100)
    assert client.count_tokens(asked) == 10
    assert client.remaining_tokens(asked) == 90
    with pytest.raises(ConfigError, match="set window"):
        ModelClient(ScriptedModel([])).remaining_tokens(asked)


@pytest.mark.parametrize("name", ["hosted_vllm/small", "litellm/openai/small"])
async def test_an_assistant_on_a_provider(name: str) -> None:
    def say(body: Any) -> str | Answered:
        if body["messages"][-1]["role"] == "tool":
            return f"it is {body['messages'][-1]['content']}"
        return Answered(calls=(("price", {"item": "red chair"}),))

    async with FaultServer(say) as server:
        client = provider_client(name, api_base=server.url)
        agent = AssistantAgent("clerk", client, tools=[price], max_tool_iterations=3)
        done = await agent.run(task="a red chair?")
        await client.close()
        assert done.messages[-1].to_text() == "it is 11"
        assert server.books.requests == 2


def test_an_unknown_provider_is_answered_with_the_nearest() -> None:
    with pytest.raises(ModelError, match="openai"):
        provider_client("opnai/gpt")
