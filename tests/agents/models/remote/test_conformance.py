"""What both clients do alike, streaming or not, whatever the server does."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from evener.agents.models.remote.faults import (
    FAULTS,
    Answered,
    Fault,
    FaultKind,
    FaultServer,
    scripted,
)
from evener.protocols.error import ContextExceeded, EvenerError, InfraError, ModelError
from evener.protocols.message import Call, Message
from evener.protocols.model import Request, Sampling, StopReason, ToolSpec

# litellm says less of what it saw: where it does, a coarser name is right as well
NAMED: dict[FaultKind, set[str]] = {
    "rate_limited": {"rate_limited"},
    "rate_limited_date": {"rate_limited"},
    "rate_limited_bare": {"rate_limited"},
    "server_error": {"overloaded"},
    "overloaded": {"overloaded"},
    "hang": {"timeout"},
    "silence": {"timeout"},
    "cut": {"cut", "unreachable"},
    "garbage": {"malformed", "cut"},
    "not_json": {"malformed", "cut"},
    "error_body": {"overloaded", "cut"},
    "null_choices": {"provider_error", "cut"},
    "empty_choices": {"empty", "cut"},
    "null_message": {"empty", "malformed"},
    "null_content": {"empty"},
}
TOOLS = (
    ToolSpec(
        name="roll",
        description="Roll a die.",
        parameters={"type": "object", "properties": {"d": {"type": "integer"}}},
    ),
)
Client = Callable[..., Any]


def timeouts(kind: FaultKind) -> dict[str, Any]:
    """Short ones where a test has to sit them out."""
    return {"timeouts": {"read_s": 0.7, "total_s": 0.7}} if kind in ("hang", "silence") else {}


async def outcome(model: Any, request: Request) -> str:
    try:
        await model.complete(request)
    except InfraError as error:
        return error.kind
    except EvenerError as error:
        return type(error).__name__
    return "answered"


async def test_a_good_reply_is_text_a_reason_to_stop_usage_and_a_name(
    client: Client, ask: Any
) -> None:
    async with FaultServer("well said indeed") as server, client(server) as model:
        reply = await model.complete(ask("say it now", temperature=0.7, seed=11, stop=("\n",)))
    assert (reply.text, reply.stop_reason, reply.calls) == ("well said indeed", "end", ())
    assert (reply.usage.calls, reply.usage.prompt_tokens, reply.usage.completion_tokens) == (
        1,
        3,
        3,
    )
    assert reply.usage.cost_usd is None
    host = server.url.removeprefix("http://")
    assert reply.model.revision == f"openai/small@{host}/v1"
    sent = server.bodies[0]
    assert (sent["model"], sent["seed"], sent["temperature"]) == ("small", 11, 0.7)
    assert (sent["max_tokens"], sent["stop"]) == (256, ["\n"])
    assert reply.raw["choices"][0]["finish_reason"] == "stop"


async def test_a_greedy_request_sends_no_seed(client: Client, ask: Any) -> None:
    async with FaultServer() as server, client(server) as model:
        await model.complete(ask(seed=5))
    assert "seed" not in server.bodies[0]


@pytest.mark.parametrize("kind", NAMED)
async def test_each_odd_reply_is_retried_up_to_the_limit_and_then_named(
    client: Client, ask: Any, kind: FaultKind
) -> None:
    faults = [Fault(kind)] * 9
    async with FaultServer("fine", scripted(faults)) as server:
        async with client(server, attempts=2, **timeouts(kind)) as model:
            assert await outcome(model, ask()) in NAMED[kind]
        assert server.books.requests == 2


@pytest.mark.parametrize("kind", NAMED)
async def test_a_retry_that_is_answered_is_the_reply(
    client: Client, ask: Any, kind: FaultKind
) -> None:
    async with FaultServer("fine", scripted([kind])) as server:
        async with client(server, **timeouts(kind)) as model:
            assert (await model.complete(ask())).text == "fine"
        assert server.books.requests == 2


async def test_a_filtered_reply_is_no_answer_and_is_not_asked_for_again(
    client: Client, ask: Any
) -> None:
    async with FaultServer("fine", scripted(["content_filter"])) as server:
        async with client(server) as model:
            assert await outcome(model, ask()) == "content_filter"
        assert server.books.requests == 1


async def test_a_prompt_that_does_not_fit_ends_with_both_figures(client: Client, ask: Any) -> None:
    script = scripted(["context_exceeded"])
    async with FaultServer("fine", script, window=4096) as server, client(server) as model:
        with pytest.raises(ContextExceeded) as caught:
            await model.complete(ask("word " * 5000))
    assert (caught.value.prompt_tokens, caught.value.window) == (5000, 4096)
    assert server.books.requests == 1


async def test_a_reply_that_was_cut_says_length(client: Client, ask: Any) -> None:
    async with FaultServer("one two three four five") as server, client(server) as model:
        reply = await model.complete(ask(max_tokens=3))
    assert (reply.text, reply.stop_reason) == ("one two three", StopReason.LENGTH)


async def test_thinking_that_used_all_tokens_is_a_cut_reply(client: Client, ask: Any) -> None:
    async with FaultServer("", scripted(["reasoning_only"])) as server, client(server) as model:
        reply = await model.complete(ask())
    assert (reply.text, reply.reasoning) == ("", "Let me think about")
    assert reply.stop_reason is StopReason.LENGTH


async def test_a_call_that_breaks_off_is_never_handed_on(client: Client, ask: Any) -> None:
    async with FaultServer("", scripted(["cut_call"])) as server, client(server) as model:
        reply = await model.complete(ask(max_tokens=64))
    assert (reply.calls, reply.stop_reason) == ((), StopReason.LENGTH)
    assert "save_file" in reply.text


async def test_a_call_that_is_no_json_is_text_that_looks_like_one(client: Client, ask: Any) -> None:
    async with FaultServer("", scripted(["malformed_call"])) as server, client(server) as model:
        reply = await model.complete(ask())
    assert reply.calls == ()
    assert reply.text.startswith('<tool_call>\n{"name": "save_file", "arguments": {"path": plan.md')


async def test_calls_have_ids_of_ours_that_are_unique_in_a_conversation(client: Client) -> None:
    """The server calls every call `call_0`."""
    said = [
        Answered(calls=(("roll", {"d": 6}), ("roll", {"d": 20}))),
        Answered(calls=(("roll", {"d": 6}),)),
    ]
    messages = [Message(role="user", content="roll")]
    async with FaultServer(lambda _: said.pop(0)) as server, client(server) as model:
        ids: list[str] = []
        reply = None
        for _ in range(2):
            reply = await model.complete(Request(messages=tuple(messages), tools=TOOLS))
            assert reply.stop_reason is StopReason.TOOL_CALLS
            messages.append(Message(role="assistant", content=reply.text, calls=reply.calls))
            for call in reply.calls:
                ids.append(call.id)
                text = f"d{call.arguments['d']}"
                messages.append(Message(role="tool", content=text, call_id=call.id))
        assert len(set(ids)) == 3
        assert server.bodies[0]["tools"][0]["function"]["name"] == "roll"
        sent = server.bodies[1]["messages"]
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "tool"]
    assert [c["id"] for c in sent[1]["tool_calls"]] == [m["tool_call_id"] for m in sent[2:]]
    assert [m["content"] for m in sent[2:]] == ["d6", "d20"]
    assert reply is not None
    assert reply.raw["choices"][0]["message"]["tool_calls"][0]["id"] == "call_0"


async def test_a_call_with_all_tokens_used_is_cut_though_it_says_it_is_whole(
    client: Client,
) -> None:
    request = Request(
        messages=(Message(role="user", content="x"),),
        tools=TOOLS,
        sampling=Sampling(max_tokens=4),
    )
    answer = Answered(calls=(("roll", {"d": 6}),))
    async with FaultServer(lambda _: answer) as server, client(server) as model:
        reply = await model.complete(request)
    assert (reply.calls, reply.stop_reason) == ((), StopReason.LENGTH)
    assert Call(name="roll", arguments={"d": 6}).name in reply.text


async def test_closing_ends_what_is_under_way_and_all_that_comes(client: Client, ask: Any) -> None:
    async with (
        FaultServer("x", scripted([Fault("hang")] * 9)) as server,
        client(server, timeouts={"read_s": 60.0, "total_s": 60.0}) as model,
    ):
        waiting = [asyncio.create_task(outcome(model, ask(str(n)))) for n in range(3)]
        await server.reached(3)
        await model.close()
        assert await asyncio.gather(*waiting) == ["closed"] * 3
        assert await outcome(model, ask()) == "closed"


async def test_a_call_that_is_cancelled_is_cancelled_and_written_down(
    client: Client, ask: Any, journal: Any
) -> None:
    async with (
        FaultServer("x", scripted(["hang"])) as server,
        client(server, timeouts={"read_s": 60.0, "total_s": 60.0}) as model,
    ):
        model.log_to(journal)
        waiting = asyncio.create_task(model.complete(ask()))
        await server.reached(1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert [a["outcome"] for a in journal.entries[0][1]["attempts"]] == ["cancelled"]


async def test_a_wrong_key_names_its_variable_and_never_shows_the_key(
    client: Client, ask: Any, journal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sesame-4711-open"
    monkeypatch.setenv("EVENER_TEST_KEY", secret)
    async with (
        FaultServer(key="another") as server,
        client(server, api_key_env="EVENER_TEST_KEY") as model,
    ):
        model.log_to(journal)
        with pytest.raises(ModelError) as caught:
            await model.complete(ask())
        shown = f"{caught.value}{model!r}{model.ref}{model.settings}{vars(model)}"
    assert server.books.requests == 1
    assert "EVENER_TEST_KEY" in str(caught.value)
    assert secret not in f"{shown}{journal.entries}"


async def test_a_right_key_is_sent(
    client: Client, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENER_TEST_KEY", "sesame")
    async with (
        FaultServer("in", key="sesame") as server,
        client(server, api_key_env="EVENER_TEST_KEY") as model,
    ):
        assert (await model.complete(ask())).text == "in"


async def test_the_key_of_openai_is_not_for_another_server(
    client: Client, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    async with FaultServer(key="sk-mine") as server, client(server) as model:
        with pytest.raises(ModelError, match="401"):
            await model.complete(ask())


async def test_no_server_at_all_is_named(client: Client, ask: Any) -> None:
    async with client("http://127.0.0.1:9", attempts=2) as model:
        assert await outcome(model, ask()) == "unreachable"


async def test_every_attempt_is_in_the_log_with_what_it_waited_and_cost(
    client: Client, ask: Any, journal: Any
) -> None:
    script = scripted([Fault("rate_limited", seconds=7), "empty_choices"])
    async with FaultServer("fine", script) as server, client(server) as model:
        model.log_to(journal)
        await model.complete(ask())
    ((kind, body),) = journal.entries
    first, second, third = body["attempts"]
    assert (kind, body["role"], body["model"]) == ("provider_call", "student", model.ref.revision)
    assert (first["outcome"], first["status"], first["prompt_tokens"]) == (
        "rate_limited",
        429,
        None,
    )
    assert second["waited"] >= 7
    assert second["outcome"] in NAMED["empty_choices"]
    assert (third["outcome"], third["prompt_tokens"], third["completion_tokens"]) == (
        "answered",
        3,
        1,
    )


def test_every_fault_of_the_server_is_tried_here() -> None:
    rest = {"latency", "content_filter", "context_exceeded", "no_usage", "cut_by_length"}
    rest |= {"malformed_call", "cut_call", "reasoning_only"}
    assert set(FAULTS) == {*NAMED} | rest


async def test_a_late_answer_is_an_answer_and_one_without_usage_is_not_free(
    client: Client, ask: Any
) -> None:
    script = scripted([Fault("latency", seconds=0.05), "no_usage"])
    async with (
        FaultServer("x", script) as server,
        client(server, price_in=1.0, price_out=1.0) as model,
    ):
        usage = (await model.complete(ask())).usage
        assert usage.cost_usd == pytest.approx(4e-6)
        unknown = (await model.complete(ask())).usage
    # litellm counts tokens of its own where it streams and a server tells none
    assert unknown.cost_usd is None or unknown.prompt_tokens > 0


async def test_the_schema_of_an_answer_is_sent_where_the_server_keeps_to_one(
    client: Client, lean: Client, ask: Any
) -> None:
    schema = {"type": "object", "properties": {"cause": {"enum": ["a", "b"]}}}
    wanted = ask().model_copy(update={"answer": schema})
    told = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    async with FaultServer('{"cause": "a"}') as server:
        async with client(server, json_schema=True) as model:
            assert (await model.complete(wanted)).text == '{"cause": "a"}'
            assert server.bodies[-1]["response_format"] == told
            await model.complete(ask())
            assert "response_format" not in server.bodies[-1]
        async with client(server) as model:
            await model.complete(wanted)
            assert "response_format" not in server.bodies[-1]
        async with lean(server, vllm=True) as model:
            await model.complete(wanted)
            assert server.bodies[-1]["response_format"] == told
    assert wanted.key() != ask().key()
