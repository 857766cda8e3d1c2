"""A client of somebody else as an evener model."""

import asyncio
from typing import Any

import pytest
from autogen_core import FunctionCall
from autogen_core.models import ChatCompletionTokenLogprob

from evener.agents.agentchat import ClientModel, ModelClient
from evener.agents.models.scripted import ScriptedModel
from evener.protocols.error import ContextExceeded, InfraError, ModelError
from evener.protocols.message import Call, Message
from evener.protocols.model import Request, Sampling, StopReason, ToolSpec

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"item": {"type": "string"}},
    "required": ["item"],
}
ASKED = Request(
    messages=(
        Message(role="system", content="s"),
        Message(role="user", content="u"),
        Message(role="assistant", content="hm", calls=(Call(id="call_0", name="look"),)),
        Message(role="tool", content="11", origin="observation", call_id="call_0"),
        Message(role="user", content="go on"),
    ),
    tools=(ToolSpec(name="look", description="Looks.", parameters=SCHEMA),),
    sampling=Sampling(temperature=0.7, top_p=0.9, max_tokens=5, seed=3, stop=("END",)),
)


class Status(Exception):
    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status_code = status


async def test_a_request_goes_through_to_a_client_and_back_unchanged() -> None:
    behind = ScriptedModel(["said"])
    reply = await ClientModel(ModelClient(behind), name="m").complete(ASKED)
    (seen,) = behind.requests
    assert [(m.role, m.content, m.calls, m.call_id) for m in seen.messages] == [
        (m.role, m.content, m.calls, m.call_id) for m in ASKED.messages
    ]
    assert (seen.tools, seen.sampling) == (ASKED.tools, ASKED.sampling)
    assert (reply.text, reply.stop_reason) == ("said", StopReason.END)
    assert reply.model.base == "m"
    assert reply.usage.calls == 1
    assert reply.usage.completion_tokens == 1
    assert reply.usage.cost_usd is None


async def test_calls_have_our_ids_and_are_numbered_on(foreign: Any, answer: Any) -> None:
    calls = [FunctionCall(id="xyz", name="look", arguments='{"item": "a"}')] * 2
    reply = await ClientModel(foreign(answer(calls, "function_calls")), name="m").complete(ASKED)
    assert [(c.id, c.arguments) for c in reply.calls] == [
        ("call_1", {"item": "a"}),
        ("call_2", {"item": "a"}),
    ]
    assert reply.stop_reason is StopReason.TOOL_CALLS


@pytest.mark.parametrize(
    ("arguments", "finish", "stop"),
    [
        ('{"item": "a"}', "length", StopReason.LENGTH),
        ('{"item": "a', "function_calls", StopReason.LENGTH),
        ("item a", "function_calls", StopReason.END),
    ],
)
async def test_a_call_that_was_cut_or_cannot_be_read_is_text(
    foreign: Any, answer: Any, arguments: str, finish: str, stop: StopReason
) -> None:
    calls = [FunctionCall(id="x", name="look", arguments=arguments)]
    reply = await ClientModel(foreign(answer(calls, finish)), name="m").complete(ASKED)
    assert reply.calls == ()
    assert reply.stop_reason is stop
    assert "look" in reply.text


async def test_thought_beside_a_text_is_reasoning(foreign: Any, answer: Any) -> None:
    reply = await ClientModel(foreign(answer("said", thought="hm")), name="m").complete(ASKED)
    assert (reply.text, reply.reasoning) == ("said", "hm")


async def test_a_reply_from_memory_costs_nothing(foreign: Any, answer: Any) -> None:
    reply = await ClientModel(foreign(answer("said", cached=True)), name="m").complete(ASKED)
    assert (reply.usage.calls, reply.usage.cached_calls) == (0, 1)
    assert (reply.usage.prompt_tokens, reply.usage.read) == (0, 7)


async def test_log_probabilities_are_averaged(foreign: Any, answer: Any) -> None:
    tokens = [ChatCompletionTokenLogprob(token="a", logprob=p) for p in (-1.0, -0.5)]
    reply = await ClientModel(foreign(answer("a a", logprobs=tokens)), name="m").complete(ASKED)
    assert reply.mean_logprob == -0.75


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (RuntimeError("socket"), InfraError, "RuntimeError: socket"),
        (Status(401, "no key"), ModelError, "no key"),
        (Status(503, "busy"), InfraError, "busy"),
        (Status(400, "maximum context length is 9 tokens"), ContextExceeded, "9"),
    ],
)
async def test_what_a_client_raises_has_a_name(
    foreign: Any, error: Exception, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        await ClientModel(foreign(error), name="m").complete(ASKED)


async def test_a_withheld_reply_is_no_reply(foreign: Any, answer: Any) -> None:
    with pytest.raises(InfraError) as caught:
        await ClientModel(foreign(answer("", "content_filter")), name="m").complete(ASKED)
    assert caught.value.kind == "content_filter"


async def test_closing_ends_what_is_under_way(foreign: Any, answer: Any) -> None:
    client = foreign(answer("late"), delay=60)
    model = ClientModel(client, name="m")
    asked = asyncio.create_task(model.complete(ASKED))
    await asyncio.sleep(0.01)
    await model.close()
    with pytest.raises(InfraError) as caught:
        await asked
    assert caught.value.kind == "closed"
    assert client.closed
    with pytest.raises(InfraError):
        await model.complete(ASKED)


async def test_a_caller_that_is_cancelled_cancels_the_call(foreign: Any, answer: Any) -> None:
    model = ClientModel(foreign(answer("late"), delay=60), name="m")
    asked = asyncio.create_task(model.complete(ASKED))
    await asyncio.sleep(0.01)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked


async def test_half_a_character_from_a_client_can_be_written_down(
    foreign: Any, answer: Any
) -> None:
    said = await ClientModel(foreign(answer("a\ud83db", "stop")), name="m").complete(ASKED)
    assert said.text == "a\ufffdb"
    calls = [FunctionCall(id="x", name="lo\udc00ok", arguments='{"item": "\\ud83d"}')]
    made = await ClientModel(foreign(answer(calls, "function_calls")), name="m").complete(ASKED)
    assert (made.calls[0].name, made.calls[0].arguments) == ("lo\ufffdok", {"item": "\ufffd"})
    assert said.model_dump_json()
    assert made.model_dump_json()
