import asyncio

import pytest

from evener.agents.models.scripted import ScriptedModel
from evener.protocols.error import InfraError
from evener.protocols.message import Message
from evener.protocols.model import Reply, Request


def ask(text: str) -> Request:
    return Request(messages=(Message(role="user", content=text),))


async def test_replies_come_in_order_and_one_call_too_many_is_an_infra_error() -> None:
    model = ScriptedModel(["one", "two"])
    assert [(await model.complete(ask("x"))).text for _ in range(2)] == ["one", "two"]
    with pytest.raises(InfraError, match="2 replies and was asked 3 times"):
        await model.complete(ask("x"))


async def test_a_function_of_the_request_may_be_async() -> None:
    async def echo(request: Request) -> str:
        await asyncio.sleep(0)
        return request.messages[-1].content

    assert (await ScriptedModel(echo).complete(ask("hello"))).text == "hello"
    assert (await ScriptedModel(lambda r: "plain").complete(ask("x"))).text == "plain"


async def test_usage_counts_calls_and_words() -> None:
    usage = (await ScriptedModel(["three words here"]).complete(ask("a b"))).usage
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (1, 2, 3)


async def test_a_whole_reply_is_given_as_it_is() -> None:
    reply = Reply(text="x", token_ids=(1,), model=ScriptedModel([], name="other").ref)
    assert await ScriptedModel([reply]).complete(ask("x")) is reply


async def test_concurrent_calls_take_replies_in_the_order_they_were_made() -> None:
    model = ScriptedModel(["0", "1", "2"], delay=0.01)
    replies = await asyncio.gather(*(model.complete(ask(str(n))) for n in range(3)))
    assert [r.text for r in replies] == ["0", "1", "2"]
    assert [r.messages[0].content for r in model.requests] == ["0", "1", "2"]


def test_equal_names_are_equal_models() -> None:
    assert ScriptedModel([], name="a").ref == ScriptedModel(["x"], name="a").ref
    assert str(ScriptedModel([], name="a").ref) == "scripted:a"
    assert ScriptedModel([], name="a").ref.revision != ScriptedModel([], name="b").ref.revision


async def test_a_closed_model_answers_no_more() -> None:
    model = ScriptedModel(["x"])
    await model.close()
    with pytest.raises(InfraError, match="closed"):
        await model.complete(ask("x"))
