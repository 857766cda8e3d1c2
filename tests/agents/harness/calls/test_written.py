"""Calls as models write them into text, from the reply to what is executed and told."""

from typing import Any

import pytest

from evener.protocols.harness import Tool, WireFormat

FINAL = '{"name": "final", "arguments": {}}'
HERMES, LENIENT = WireFormat(format="hermes"), WireFormat(format="hermes", strict=False)
NOTE = "Close every call with </tool_call> before stopping."
NOTED = (
    '<tool_call>\n{"name": "write_note", "arguments": {"path": "notes/tags.md", "text": '
    f'"{NOTE}"}}}}\n</tool_call>'
)
EVENTS = (
    '{"name": "add_event", "arguments": {"day": "Mon", "title": "standup"}}\n'
    '{"name": "add_event", "arguments": {"day": "Tue", "title": "review"}}'
)
BLOCK = f"<tool_call>\n{EVENTS}\n</tool_call>"
PLANNED = [
    ("add_event", {"day": "Mon", "title": "standup"}),
    ("add_event", {"day": "Tue", "title": "review"}),
]
THOUGHT = (
    "<think>\nI should look it up now.\n<tool_call>\n"
    '{"name": "lookup", "arguments": {"key": "boiling_point_ethanol"}}\n</tool_call>\n</think>'
)
CHAIN = (
    '<|python_tag|>{"name": "search", "parameters": {"q": "tides", "filter": {"year": '
    '{"gte": 2020}}}}; {"name": "open", "parameters": {"rank": 1}}<|eom_id|>'
)
SEARCHED = [("search", {"q": "tides", "filter": {"year": {"gte": 2020}}}), ("open", {"rank": 1})]


def wire(form: str, **more: Any) -> WireFormat:
    return WireFormat.model_validate({"format": form, **more})


@pytest.mark.parametrize("protocol", [HERMES, LENIENT])
async def test_a_closing_tag_inside_an_argument_is_part_of_it(
    play: Any, protocol: WireFormat
) -> None:
    played = await play(protocol, NOTED)
    assert played.made == [("write_note", {"path": "notes/tags.md", "text": NOTE})]
    assert (played.parsed.repaired, played.parsed.ignored) == (False, "")


@pytest.mark.parametrize(
    ("protocol", "text"),
    [
        (HERMES, BLOCK),
        (LENIENT, BLOCK),
        (wire("json", several=True), EVENTS),
        (wire("json", several=True, strict=False), BLOCK),
        (wire("native", strict=False), BLOCK),
    ],
)
async def test_two_calls_in_one_block_are_both_made_in_order(
    play: Any, protocol: WireFormat, text: str
) -> None:
    played = await play(protocol, text)
    assert played.made == PLANNED
    ids = [call.id for call in played.parsed.calls]
    assert len(set(ids)) == 2
    assert [event.call.id for event in played.events("acted")][:2] == ids


@pytest.mark.parametrize(
    ("protocol", "line"),
    [
        (wire("json"), EVENTS),
        (wire("hermes", several=False), BLOCK),
        (wire("native", several=False), [("add_event", "{}"), ("add_event", "{}")]),
    ],
)
async def test_where_one_call_a_turn_is_allowed_both_are_named_and_none_is_made(
    play: Any, protocol: WireFormat, line: Any
) -> None:
    played = await play(protocol, line)
    assert (played.made, played.fault) == ([], "several_calls")
    assert "more than one call: add_event, add_event. Make one call at a time." in played.told


@pytest.mark.parametrize(
    ("protocol", "line", "words"),
    [
        (wire("json", strict=False), EVENTS, "Only the first of 2 calls was executed."),
        (
            wire("hermes", strict=False, several=False),
            BLOCK,
            "Only the first of 2 calls was executed.",
        ),
        (
            wire("native", strict=False, several=False),
            [("add_event", '{"day": "Mon", "title": "standup"}'), ("roll", '{"d": 6}')],
            "Only the first call was executed, not: roll.",
        ),
        (
            wire("native", strict=False, several=False),
            BLOCK,
            "Only the first call was executed, not: add_event.",
        ),
    ],
)
async def test_the_first_of_several_may_be_taken_and_it_is_said_so(
    play: Any, protocol: WireFormat, line: Any, words: str
) -> None:
    played = await play(protocol, line)
    assert played.made == PLANNED[:1]
    assert "first_of_several" in played.parsed.repairs
    assert played.parsed.ignored
    assert words in played.told


async def test_calls_behind_the_one_that_ends_the_episode_are_named(play: Any) -> None:
    played = await play(HERMES, f"<tool_call>{FINAL}</tool_call>{BLOCK}")
    assert played.made == []
    detail = "not executed, for they came behind it: add_event, add_event"
    assert played.events("ended")[0].detail == detail


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("form", ["json", "hermes", "native"])
@pytest.mark.parametrize("setting", [None, "refuse", "execute"])
async def test_a_call_inside_the_thinking_is_made_only_where_the_protocol_says_so(
    play: Any, form: str, strict: bool, setting: str | None
) -> None:
    played = await play(wire(form, strict=strict, in_reasoning=setting), THOUGHT)
    assert played.events("ended")[0].reason == "final"
    if setting == "execute":
        assert played.made == [("lookup", {"key": "boiling_point_ethanol"})]
        assert played.parsed.repairs[0] == "in_reasoning"
        parts = [event.part for event in played.events("activated")]
        assert "middleware.protocol.in_reasoning" in parts
    else:
        assert (played.made, played.fault) == ([], "call_in_reasoning")
        assert "Write the call behind the reasoning" in played.told


async def test_a_near_miss_inside_the_thinking_is_no_call_by_the_letter(play: Any) -> None:
    thought = "<think>{'name': 'now', 'arguments': {}}</think>"
    assert (await play(wire("json", in_reasoning="execute"), thought)).made == []
    lenient = wire("json", in_reasoning="execute", strict=False)
    assert (await play(lenient, thought)).made == [("now", {})]


@pytest.mark.parametrize("strict", [True, False])
async def test_further_calls_inside_the_thinking_are_named_and_not_made(
    play: Any, strict: bool
) -> None:
    two = '{"name": "now", "arguments": {}} {"name": "roll", "arguments": {}}'
    executing = wire("json", in_reasoning="execute", strict=strict)
    played = await play(executing, f"<think>{two}</think>")
    assert played.made == [("now", {})]
    assert "first_of_several" in played.parsed.repairs
    assert played.parsed.ignored == "roll"
    assert "Only the first call was executed, not: roll." in played.told


async def test_a_call_in_the_thinking_before_a_plain_answer_is_not_passed_over(play: Any) -> None:
    played = await play(HERMES, f"{THOUGHT}\nIt boils at 78 degrees.")
    assert played.events("ended")[0].reason == "no_action"
    assert (
        "what looks like a call stands inside the reasoning"
        in played.events("parse_failed")[0].detail
    )


async def test_repair_comes_after_the_letter_and_says_what_it_did(play: Any) -> None:
    lenient = wire("json", strict=False)
    line = """{"name": "write_note", "arguments": {"path": "a", "text": "it's the crew's boat"}}"""
    plain = await play(lenient, line)
    assert plain.made == [("write_note", {"path": "a", "text": "it's the crew's boat"})]
    assert not plain.parsed.repaired
    tools = [Tool(name="plot", action="drop"), Tool(name="stop", action="final")]
    literal = "{'name': 'plot', 'arguments': {'ys': [1, 2,], 'grid': True, 'title': None,}}"
    fenced = '```json{"name": "stop", "arguments": {}}```'
    mended = await play(lenient, literal, fenced, tools=tools)
    assert mended.made == [("drop", {"ys": [1, 2], "grid": True, "title": None})]
    first, second = mended.events("parsed")
    assert (first.repaired, first.repairs) == (True, ("python_literal",))
    assert (second.repaired, second.repairs) == (True, ("fence",))
    assert mended.events("ended")[0].reason == "final"


async def test_a_chain_behind_the_python_tag_is_read_to_its_end(play: Any) -> None:
    played = await play(LENIENT, CHAIN)
    assert played.made == SEARCHED
    assert played.parsed.repairs == ("python_tag", "key")
    strictly = await play(HERMES, CHAIN)
    assert (strictly.made, strictly.fault) == ([], "call_like_text")


async def test_json_later_in_prose_is_no_call_and_the_student_is_told(play: Any) -> None:
    prose = 'For example {"name": "drop", "arguments": {}} would be wrong.'
    played = await play(LENIENT, f"{CHAIN}\n{prose}")
    assert played.made == SEARCHED
    assert played.parsed.ignored == prose
    assert played.told.endswith(
        "Not executed: drop. Write calls one behind the other, with no text between."
    )


async def test_a_made_up_tool_is_answered_with_the_nearest_of_the_real_ones(play: Any) -> None:
    line = '<tool_call>{"name": "python_exec", "arguments": {"code": "print(2)"}}</tool_call>'
    end = '<tool_call>{"name": "final_answer", "arguments": {}}</tool_call>'
    tools = (Tool(name="py_exec", action="drop"), Tool(name="final_answer", action="final"))
    played = await play(HERMES, line, end, tools=tools)
    assert played.made == []
    refused = played.events("call_refused")[0]
    assert (refused.reason, refused.nearest) == ("unknown_tool", "py_exec")
    assert "Did you mean py_exec? Tools: py_exec, final_answer." in played.told
    assert played.events("ended")[0].reason == "final"
