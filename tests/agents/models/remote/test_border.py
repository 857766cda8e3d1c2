"""Bodies as servers send them, and what becomes of each."""

import json
from typing import Any

import pytest

from evener.agents.models.remote.border import read_reply
from evener.agents.models.remote.outcome import ACTION, CallFault
from evener.protocols.message import Message
from evener.protocols.model import ModelRef, Reply, Request, Sampling, StopReason

REF = ModelRef(base="openai/small", revision="openai/small@host")


def read(body: Any, *, max_tokens: int = 64, before: tuple[Message, ...] = ()) -> Reply:
    request = Request(
        messages=(Message(role="user", content="x"), *before),
        sampling=Sampling(max_tokens=max_tokens),
    )
    return read_reply(body, request, ref=REF, price=lambda _, __: None, seconds=1.5, wall=0.0)


def says(message: Any, finish: str | None = "stop", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": finish} | more
    return {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}


def calling(*calls: dict[str, Any], finish: str = "tool_calls") -> dict[str, Any]:
    made = [{"id": "call_0", "type": "function", "function": call} for call in calls]
    return says({"role": "assistant", "content": None, "tool_calls": made}, finish)


@pytest.mark.parametrize(
    ("text", "kind", "action"),
    [
        ('{"choices": []}', "empty", "retry"),
        (
            '{"choices": null, "error": {"message": "upstream overloaded"}}',
            "provider_error",
            "retry",
        ),
        ('{"choices": [{"message": null, "finish_reason": "stop"}]}', "empty", "retry"),
        (
            '{"choices": [{"message": {"role": "assistant", "content": null}, '
            '"finish_reason": "content_filter"}]}',
            "content_filter",
            "infra",
        ),
        ('{"choices": null}', "empty", "retry"),
        ('{"choices": [null]}', "empty", "retry"),
        ("[]", "malformed", "retry"),
        ("{}", "empty", "retry"),
        ('{"error": "model is loading"}', "provider_error", "retry"),
        ('{"error": {"message": "busy", "code": 429}}', "rate_limited", "retry"),
        ('{"error": {"message": "x", "code": "insufficient_quota"}}', "quota", "budget"),
    ],
)
def test_a_success_without_an_answer_has_a_name(text: str, kind: str, action: str) -> None:
    with pytest.raises(CallFault) as caught:
        read(json.loads(text))
    assert (caught.value.kind, caught.value.action) == (kind, action)


def test_the_provider_s_own_words_are_kept() -> None:
    with pytest.raises(CallFault, match="upstream overloaded"):
        read({"choices": None, "error": {"message": "upstream overloaded"}})


def test_every_kind_has_an_action() -> None:
    assert set(ACTION.values()) == {"retry", "give_up", "infra", "budget", "episode"}


def test_what_an_odd_reply_cost_is_known() -> None:
    with pytest.raises(CallFault) as caught:
        read({"choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": 0}})
    assert caught.value.tokens == (900, 0)


def test_an_empty_text_is_an_answer_and_null_is_none() -> None:
    assert read(says({"content": ""})).text == ""
    with pytest.raises(CallFault, match="null"):
        read(says({"content": None}))


def test_an_answer_that_does_not_say_why_it_ends_was_cut() -> None:
    for finish in (None, "abort"):
        with pytest.raises(CallFault) as caught:
            read(says({"content": "The total is 4"}, finish))
        assert caught.value.kind == "cut"


@pytest.mark.parametrize(
    ("finish", "more", "reason"),
    [
        ("stop", {}, StopReason.END),
        ("stop", {"stop_reason": "<DONE>"}, StopReason.STOP),
        ("stop", {"stop_reason": 151643}, StopReason.END),
        ("stop", {"stop_reason": None}, StopReason.END),
        ("length", {}, StopReason.LENGTH),
        ("end_turn", {}, StopReason.END),
        ("stop_sequence", {}, StopReason.STOP),
    ],
)
def test_why_it_stopped(finish: str, more: dict[str, Any], reason: StopReason) -> None:
    assert read(says({"content": "x"}, finish, **more)).stop_reason is reason


def test_a_call_cut_by_the_token_limit_is_a_cut_reply_though_it_says_otherwise() -> None:
    cut = '{"path": "plan.md", "body": "# Plan\\n1. Mea'
    body = calling({"name": "save_file", "arguments": cut})
    body["usage"]["completion_tokens"] = 64
    reply = read(body, max_tokens=64)
    assert (reply.stop_reason, reply.calls) == (StopReason.LENGTH, ())
    body["usage"]["completion_tokens"] = 20  # a gateway that counts otherwise
    assert read(body, max_tokens=64).stop_reason is StopReason.LENGTH
    whole = calling({"name": "save_file", "arguments": '{"path": "plan.md"}'})
    whole["usage"]["completion_tokens"] = 64
    reply = read(whole, max_tokens=64)
    assert (reply.stop_reason, reply.calls) == (StopReason.LENGTH, ())
    assert "save_file" in reply.text
    whole["usage"]["completion_tokens"] = 63
    assert read(whole, max_tokens=64).calls[0].arguments == {"path": "plan.md"}


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ("", {}),
        (None, {}),
        ("  ", {}),
        ('{"xs": [1, 2]}', {"xs": [1, 2]}),
        ('"{\\"xs\\": [1, 2]}"', {"xs": [1, 2]}),
        ({"xs": "[1, 2]"}, {"xs": "[1, 2]"}),
        ({"label": "42"}, {"label": "42"}),
    ],
)
def test_arguments_are_read_by_the_letter(arguments: Any, meant: Any) -> None:
    (call,) = read(calling({"name": "sum", "arguments": arguments})).calls
    assert call.arguments == meant


@pytest.mark.parametrize(
    "arguments",
    ["{'xs': 1}", '{"xs": 1,}', "[1]", "3", '{"xs": 1} and more', '{"a": 1, "a": 2}', "{"],
)
def test_one_call_that_cannot_be_read_leaves_none_and_all_of_them_as_text(arguments: str) -> None:
    good = {"name": "roll", "arguments": '{"d": 6}'}
    reply = read(calling(good, {"name": "sum", "arguments": arguments}))
    assert reply.calls == ()
    assert '"roll"' in reply.text
    assert arguments in reply.text


def test_a_call_without_a_name_is_none() -> None:
    assert read(calling({"arguments": "{}"})).calls == ()


def test_ids_are_ours_and_go_on_from_the_calls_before() -> None:
    roll = {"name": "roll", "arguments": '{"d": 6}'}
    first = read(calling(roll, roll))
    said = Message(role="assistant", content="", calls=first.calls)
    later = read(calling(roll), before=(said,))
    assert [c.id for c in (*first.calls, *later.calls)] == ["call_0", "call_1", "call_2"]
    assert first.raw is not None


def test_log_probabilities_and_token_ids_where_a_server_gives_them() -> None:
    logprobs = {"content": [{"logprob": -0.25}, {"logprob": -0.75}]}
    body = says({"content": "ab"}, logprobs=logprobs, token_ids=[5, 6, 2])
    reply = read(body | {"prompt_token_ids": [1] * 999})
    assert (reply.mean_logprob, reply.token_ids) == (-0.5, (5, 6, 2))
    assert reply.raw is not None
    assert "prompt_token_ids" not in reply.raw
    assert "logprobs" not in json.dumps(reply.raw)
    plain = read(says({"content": "ab"}))
    assert (plain.mean_logprob, plain.token_ids) == (None, None)


def test_thinking_a_refusal_and_a_list_of_parts_are_read() -> None:
    thought = read(says({"content": "4", "reasoning_content": "2 + 2"}))
    assert (thought.text, thought.reasoning) == ("4", "2 + 2")
    assert read(says({"content": None, "refusal": "I can't."})).text == "I can't."
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert read(says({"content": parts})).text == "ab"


def test_usage_that_is_no_usage_is_unknown() -> None:
    for usage in (None, {}, {"prompt_tokens": None}, {"prompt_tokens": True}, {"prompt_tokens": 0}):
        body = says({"content": "x"}) | {"usage": usage}
        reply = read(body)
        assert (reply.usage.prompt_tokens, reply.usage.cost_usd) == (0, None)
        assert reply.usage.seconds == 1.5


def test_a_reply_round_trips() -> None:
    reply = read(calling({"name": "roll", "arguments": '{"d": 6}'}))
    assert Reply.model_validate_json(reply.model_dump_json()) == reply


NESTED: Any = json.loads("[" * 500 + "]" * 500)


@pytest.mark.parametrize(
    "body",
    [
        says({"role": "assistant", "content": "hi"}, extra=NESTED),
        says({"role": "assistant", "content": "hi"}, extra=float("nan")),
        says({"role": "assistant", "content": "hi"}, extra=10**400),
        calling({"name": "add", "arguments": {"a": float("inf")}}),
    ],
)
def test_a_body_that_cannot_be_written_down_is_malformed_and_asked_again(body: Any) -> None:
    with pytest.raises(CallFault) as caught:
        read(body)
    assert (caught.value.kind, caught.value.action) == ("malformed", "retry")
    assert caught.value.tokens == (9, 4)


def test_half_a_character_is_replaced_wherever_it_stands() -> None:
    message = {"role": "assistant", "content": "a\ud83db", "reasoning_content": "\ud83d"}
    reply = read(says(message))
    assert (reply.text, reply.reasoning) == ("a\ufffdb", "\ufffd")
    assert "a\ufffdb" in reply.model_dump_json()
    made = read(calling({"name": "ad\udc00d", "arguments": '{"a": "\\ud83d"}'}))
    assert made.calls[0].name == "ad\ufffdd"
    assert made.model_dump_json()


def test_numbers_without_end_beside_a_reply_are_left_out() -> None:
    body = says({"role": "assistant", "content": "hi"}, token_ids=[True, 10**400])
    body["choices"][0]["logprobs"] = {"content": [{"logprob": -(10**400)}]}
    reply = read(body)
    assert (reply.text, reply.token_ids, reply.mean_logprob) == ("hi", None, None)
