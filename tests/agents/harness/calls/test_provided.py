"""A provider's own calls, from the body of its answer to what is executed and sent back."""

import json
from typing import Any

import pytest

from evener.protocols.harness import Hook, Hooks, Loop, WireFormat
from evener.protocols.trajectory import Outcome

NATIVE = WireFormat(format="native")
LENIENT = WireFormat(format="native", strict=False)
NOTED = (
    '<tool_call>\n{"name": "write_note", "arguments": {"path": "notes/tags.md", "text": '
    '"Close every call with </tool_call> before stopping."}}\n</tool_call>'
)
CHAIN = (
    '<|python_tag|>{"name": "search", "parameters": {"q": "tides", "filter": {"year": '
    '{"gte": 2020}}}}; {"name": "open", "parameters": {"rank": 1}}<|eom_id|>'
)
SEARCHED = [("search", {"q": "tides", "filter": {"year": {"gte": 2020}}}), ("open", {"rank": 1})]


async def test_a_call_written_as_text_leaves_nothing_of_it_in_the_text(play: Any) -> None:
    played = await play(LENIENT, f"Noting.\n{NOTED}")
    ((name, arguments),) = played.made
    assert name == "write_note"
    assert arguments["text"] == "Close every call with </tool_call> before stopping."
    assert played.parsed.repairs == ("as_text", "tags", "text")
    call, result = played.requests[1].messages[1:]
    assert (call.content, [c.name for c in call.calls]) == ("Noting.", ["write_note"])
    assert (result.role, result.call_id) == ("tool", call.calls[0].id)
    strictly = await play(NATIVE, NOTED)
    assert (strictly.made, strictly.fault) == ([], "call_like_text")


async def test_control_tokens_around_calls_are_not_sent_back(play: Any) -> None:
    played = await play(LENIENT, CHAIN)
    assert played.made == SEARCHED
    assert played.parsed.repairs == ("as_text", "python_tag", "key")
    message = played.requests[1].messages[1]
    assert (message.content, len(message.calls)) == ("", 2)


async def test_a_hook_that_reads_again_makes_the_call_a_call(play: Any) -> None:
    hooks = Hooks(after_model=(Hook(name="repair_call"),))
    played = await play(NATIVE, CHAIN, hooks=hooks)
    assert played.made == SEARCHED
    history = played.requests[1].messages
    assert [call.id for call in history[1].calls] == [m.call_id for m in history[2:]]
    assert history[1].content == ""


async def test_a_call_in_a_provider_s_reasoning_is_refused_or_made(play: Any, body: Any) -> None:
    line = body(text="", thought=f"I should note it.\n{NOTED}")
    refused = await play(NATIVE, line)
    assert (refused.made, refused.fault) == ([], "call_in_reasoning")
    executing = WireFormat(format="native", in_reasoning="execute")
    assert [name for name, _ in (await play(executing, line)).made] == ["write_note"]


async def test_text_beside_a_call_that_looks_like_another_is_an_event(play: Any, body: Any) -> None:
    played = await play(NATIVE, body(("now", ""), text=NOTED))
    assert played.made == [("now", {})]
    assert played.parsed.ignored == NOTED
    quiet = await play(NATIVE, body(("now", ""), text="What time is it?"))
    assert quiet.parsed.ignored == ""


SENT = [
    ("now", ""),
    ("now", None),
    ("now", "  "),
    ("sum", '"{\\"xs\\": [1, 2]}"'),
    ("sum", {"xs": "[1, 2]"}),
    ("tag", {"label": "42"}),
]
MEANT = [*[("now", {})] * 3, *[("sum", {"xs": [1, 2]})] * 2, ("tag", {"label": "42"})]


async def test_arguments_are_what_the_schema_says_however_they_are_encoded(play: Any) -> None:
    played = await play(NATIVE, SENT)
    assert played.made == MEANT
    assert [event.argument for event in played.events("coerced")] == ["xs"]
    texts = [json.dumps({"name": name, "arguments": sent}) for name, sent in SENT]
    lenient = WireFormat(format="hermes", strict=False)
    written = await play(lenient, f"<tool_call>\n{chr(10).join(texts)}\n</tool_call>")
    assert written.made == MEANT
    assert written.parsed.repairs == ("arguments",)


@pytest.mark.parametrize("strict", [True, False])
async def test_a_call_cut_by_the_token_limit_is_never_made(
    play: Any, body: Any, strict: bool
) -> None:
    cut = body(("save_file", '{"path": "plan.md", "body": "# Plan\\n1. Mea'), written=64)
    protocol = WireFormat(format="native", strict=strict, in_reasoning="execute")
    played = await play(protocol, cut, loop=Loop(max_turns=4, max_reply_tokens=64))
    assert (played.made, played.fault) == ([], "cut_by_length")
    assert "cut at 64 tokens" in played.told
    history = played.requests[1].messages
    assert [(m.role, m.calls) for m in history] == [("user", ()), ("assistant", ()), ("user", ())]
    once = await play(protocol, cut, loop=Loop(max_turns=1, max_reply_tokens=64))
    assert once.trajectory.outcome is Outcome.TRUNCATED
    assert once.made == []


@pytest.mark.parametrize("form", ["json", "hermes", "native"])
async def test_a_call_in_text_that_the_limit_cut_is_never_closed(
    play: Any, body: Any, form: Any
) -> None:
    protocol = WireFormat(format=form, strict=False, in_reasoning="execute")
    text = '<tool_call>\n{"name": "save_file", "arguments": {"path": "plan.md", "body": "# Pl'
    played = await play(protocol, body(text=text, written=512))
    assert (played.made, played.fault) == ([], "cut_by_length")


async def test_equal_ids_of_a_provider_lose_no_call_and_no_result(play: Any) -> None:
    twice = [("roll", '{"d":6}'), ("roll", '{"d":20}')]
    played = await play(NATIVE, twice, [("now", "")], [("now", "")], [("roll", '{"d":6}')])
    assert [arguments["d"] for name, arguments in played.made if name == "roll"] == [6, 20, 6]
    history = played.requests[4].messages
    calls = [call.id for message in history for call in message.calls]
    assert len(set(calls)) == 5
    assert [m.call_id for m in history if m.role == "tool"] == calls
    assert [m.content for m in history if m.role == "tool"] == [f"result {n}" for n in range(1, 6)]
