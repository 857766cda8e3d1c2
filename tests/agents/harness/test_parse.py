"""Replies as models write them: read strictly, read leniently, or refused under the right name."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evener.agents.harness.parse import read_reply
from evener.protocols.event import Parsed, ParseFailed
from evener.protocols.harness import Harness, Middleware, WireFormat
from evener.protocols.model import ModelRef, Reply, StopReason, Usage

REF = ModelRef(base="said", revision="0")
OFFERED = ("lookup", "calculator", "final", "now")


def read(
    text: str,
    *,
    form: Any = "json",
    strict: bool = True,
    stop: StopReason = StopReason.END,
    reasoning: str | None = None,
    tokens: int = 0,
) -> Parsed | ParseFailed:
    harness = Harness(
        name="h", middleware=Middleware(protocol=WireFormat(format=form, strict=strict))
    )
    usage = Usage(calls=1, completion_tokens=tokens)
    reply = Reply(text=text, reasoning=reasoning, stop_reason=stop, usage=usage, model=REF)
    return read_reply(reply, harness, OFFERED, turn=3)


def calls(parsed: Parsed | ParseFailed) -> list[tuple[str, Any]]:
    assert isinstance(parsed, Parsed), parsed
    return [(call.name, call.arguments) for call in parsed.calls]


def fault(failed: Parsed | ParseFailed) -> str:
    assert isinstance(failed, ParseFailed), failed
    return failed.fault


def test_one_object_is_one_call_with_an_id_of_ours() -> None:
    parsed = read(' {"name": "lookup", "arguments": {"item": "tea"}}\n')
    assert isinstance(parsed, Parsed)
    assert (parsed.repaired, parsed.calls[0].id) == (False, "call_3_0")
    assert calls(parsed) == [("lookup", {"item": "tea"})]


def test_a_closing_tag_inside_an_argument_does_not_end_the_call() -> None:
    text = (
        '<tool_call>\n{"name": "write_note", "arguments": {"path": "notes/tags.md", "text": '
        '"Close every call with </tool_call> before stopping."}}\n</tool_call>'
    )
    for strict in (True, False):
        assert calls(read(text, form="hermes", strict=strict)) == [
            (
                "write_note",
                {
                    "path": "notes/tags.md",
                    "text": "Close every call with </tool_call> before stopping.",
                },
            )
        ]


TWO = (
    '{"name": "add_event", "arguments": {"day": "Mon", "title": "standup"}}\n'
    '{"name": "add_event", "arguments": {"day": "Tue", "title": "review"}}'
)


@pytest.mark.parametrize("strict", [True, False])
def test_two_calls_in_one_block_are_both_made_in_order(strict: bool) -> None:
    parsed = read(f"<tool_call>\n{TWO}\n</tool_call>", form="hermes", strict=strict)
    assert [a["day"] for _, a in calls(parsed)] == ["Mon", "Tue"]
    assert isinstance(parsed, Parsed)
    assert len({call.id for call in parsed.calls}) == 2


def test_two_calls_where_one_is_allowed_are_refused_and_both_named() -> None:
    failed = read(TWO)
    assert isinstance(failed, ParseFailed)
    assert failed.fault == "several_calls"
    assert "add_event, add_event" in failed.detail


def test_a_call_inside_the_reasoning_is_not_executed() -> None:
    inner = '<tool_call>\n{"name": "lookup", "arguments": {"key": "x"}}\n</tool_call>'
    text = f"<think>\nI should look it up now.\n{inner}\n</think>\n"
    for strict in (True, False):
        assert fault(read(text, form="hermes", strict=strict)) == "call_in_reasoning"
        assert fault(read("<think>" + inner, form="hermes", strict=strict)) == "call_in_reasoning"
        assert fault(read("", form="hermes", reasoning=inner)) == "call_in_reasoning"


def test_reasoning_before_a_call_is_no_part_of_it() -> None:
    text = '<think>{"name": 1}</think>{"name": "now", "arguments": {}}'
    assert calls(read(text)) == [("now", {})]


def test_apostrophes_in_valid_json_are_left_alone() -> None:
    text = """{"name": "say", "arguments": {"line": "it's the crew's boat"}}"""
    parsed = read(text, strict=False)
    assert calls(parsed) == [("say", {"line": "it's the crew's boat"})]
    assert isinstance(parsed, Parsed)
    assert not parsed.repaired


def test_python_literals_and_trailing_commas_are_repaired_and_flagged() -> None:
    text = "{'name': 'plot', 'arguments': {'ys': [1, 2,], 'grid': True, 'title': None,}}"
    assert fault(read(text)) in ("invalid_json", "call_like_text")
    parsed = read(text, strict=False)
    assert calls(parsed) == [("plot", {"ys": [1, 2], "grid": True, "title": None})]
    assert isinstance(parsed, Parsed)
    assert parsed.repaired
    mixed = '{"name": "plot", "arguments": {"ys": [1, 2,], "grid": true, "s": "a,]",},}'
    assert calls(read(mixed, strict=False)) == [("plot", {"ys": [1, 2], "grid": True, "s": "a,]"})]


def test_a_fence_on_the_same_line_is_read_leniently() -> None:
    text = '```json{"name": "stop", "arguments": {}}```'
    assert calls(read(text, strict=False)) == [("stop", {})]
    assert fault(read(text)) == "call_like_text"


@pytest.mark.parametrize("arguments", ['""', "null", '"  "'])
def test_empty_arguments_are_none_in_the_lenient_reading(arguments: str) -> None:
    text = f'{{"name":"now","arguments":{arguments}}}'
    assert calls(read(text, strict=False)) == [("now", {})]
    assert fault(read(text)) == "wrong_shape"


def test_double_encoded_arguments_are_decoded_leniently() -> None:
    text = r'{"name":"sum","arguments":"\"{\\\"xs\\\": [1, 2]}\""}'
    assert calls(read(text, strict=False)) == [("sum", {"xs": [1, 2]})]


CHAIN = (
    '<|python_tag|>{"name": "search", "parameters": {"q": "tides", "filter": {"year": '
    '{"gte": 2020}}}}; {"name": "open", "parameters": {"rank": 1}}<|eom_id|>'
)


def test_a_chain_of_calls_with_nested_objects_is_read_to_its_end() -> None:
    assert calls(read(CHAIN, form="hermes", strict=False)) == [
        ("search", {"q": "tides", "filter": {"year": {"gte": 2020}}}),
        ("open", {"rank": 1}),
    ]
    assert calls(read(CHAIN, form="json", strict=False))[0][0] == "search"


def test_json_later_in_prose_is_not_promoted_to_a_further_call() -> None:
    text = f'{CHAIN}\nFor example {{"name": "drop", "arguments": {{}}}} would be wrong.'
    assert [n for n, _ in calls(read(text, form="hermes", strict=False))] == ["search", "open"]


@pytest.mark.parametrize(
    "text",
    [
        '{"tool": "lookup", "arguments": {"item": "tea"}}',
        '{"function": "lookup", "parameters": {"item": "tea"}}',
        '{"function": {"name": "lookup", "arguments": "{\\"item\\": \\"tea\\"}"}}',
        'Sure! {"name": "lookup", "arguments": {"item": "tea"}} I will.',
        '{"thought": "hm"} {"name": "lookup", "arguments": {"item": "tea"}}',
        '<tool_call>{"name": "lookup", "arguments": {"item": "tea"}}',
        '```\n{"name": "lookup",\n "arguments": {"item": "tea"}}\n```',
    ],
)
@pytest.mark.parametrize("form", ["json", "hermes"])
def test_near_misses_are_read_leniently(text: str, form: str) -> None:
    parsed = read(text, form=form, strict=False)
    assert calls(parsed) == [("lookup", {"item": "tea"})]
    assert isinstance(parsed, Parsed)
    assert parsed.repaired
    assert isinstance(read(text, form=form), ParseFailed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "no_call"),
        ("It is 42.", "no_call"),
        ("The set {1, 2} has two members.", "no_call"),
        ('{"name": "lookup", "arguments": {"item": "tea"', "invalid_json"),
        ('{"name": "lookup"}', "wrong_shape"),
        ('{"name": 3, "arguments": {}}', "wrong_shape"),
        ('{"name": "lookup", "arguments": [1]}', "wrong_shape"),
        ('{"name": "lookup", "arguments": {}, "id": 1}', "wrong_shape"),
        ('{"name": "a", "name": "b", "arguments": {}}', "invalid_json"),
        ('{"name": "a", "arguments": {"x": NaN}}', "invalid_json"),
        ('{"name": "a", "arguments": {"x": 1e999}}', "invalid_json"),
        ('{"name": "a", "arguments": {}} and more', "call_like_text"),
        ('I call {"name": "a", "arguments": {}}', "call_like_text"),
        ("calculator(2*3)", "call_like_text"),
        ("<tool_call>lookup tea</tool_call>", "call_like_text"),
        ('[{"name": "a", "arguments": {}}]', "call_like_text"),
        ('{"a":' * 5000, "invalid_json"),
        ('{"name": "a", "arguments": {"x": ' + "9" * 5000 + "}}", "invalid_json"),
    ],
)
def test_a_reply_that_makes_no_call_has_a_name(text: str, expected: str) -> None:
    assert fault(read(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "save_file", "arguments": "{\\"path\\": \\"plan.md\\", \\"body\\": \\"# Pl',
        '{"name": "save_file", "arguments": {"path": "plan.md"',
        "{'name': 'save_file', 'arguments': {'path': 'plan.md'",
    ],
)
def test_what_was_left_open_is_never_closed_for_the_student(text: str) -> None:
    assert isinstance(read(text, strict=False), ParseFailed)
    assert fault(read(text, strict=False, tokens=512)) == "cut_by_length"
    assert fault(read(text, strict=False, stop=StopReason.LENGTH)) == "cut_by_length"


def test_a_whole_call_at_the_limit_is_executed_unless_the_engine_says_it_was_cut() -> None:
    text = '{"name": "now", "arguments": {}}'
    assert calls(read(text, tokens=512)) == [("now", {})]
    assert fault(read(text, stop=StopReason.LENGTH)) == "cut_by_length"


def test_half_a_surrogate_pair_in_an_argument_becomes_a_mark() -> None:
    text = r'{"name": "now", "arguments": {"x": "\ud83d"}}'
    assert calls(read(text)) == [("now", {"x": "\ufffd"})]


def test_the_stop_tag_of_hermes_may_be_missing_where_it_stopped_the_reply() -> None:
    middleware = Middleware(protocol=WireFormat(format="hermes"))
    loop = middleware.loop.model_copy(update={"stop": ("</tool_call>",)})
    harness = Harness(name="h", middleware=middleware.model_copy(update={"loop": loop}))
    text = '<tool_call>\n{"name": "now", "arguments": {}}\n'
    reply = Reply(text=text, stop_reason=StopReason.STOP, model=REF)
    assert calls(read_reply(reply, harness, OFFERED)) == [("now", {})]


NOW = '{"name": "now", "arguments": {}}'


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        f"<think>a</think>\n<think>b</think>{NOW}",
        f"I think {{x}} of 2.</think>\n{NOW}",
        f"{NOW}<think>done</think>",
        f"{NOW}<think>done, I would {NOW}",
        f"<think>{NOW}</think>{NOW}",
        f"{NOW} is a try</think>{NOW}",
    ],
)
def test_reasoning_is_set_apart_wherever_it_stands(text: str, strict: bool) -> None:
    parsed = read(text, strict=strict)
    assert calls(parsed) == [("now", {})]
    assert isinstance(parsed, Parsed)
    assert not parsed.repaired


@pytest.mark.parametrize("tag", ["<think>", "</think>", "</think> <think>", "<think></think>"])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_thinking_tag_inside_an_argument_is_part_of_it(tag: str, quote: str) -> None:
    text = f'{{"name": "lookup", "arguments": {{"item": "a {tag} b"}}}}'.replace('"', quote)
    assert calls(read(text, strict=quote == '"')) == [("lookup", {"item": f"a {tag} b"})]


@pytest.mark.parametrize("strict", [True, False])
def test_a_call_inside_thinking_that_comes_later_is_not_executed(strict: bool) -> None:
    assert fault(read(f"<think>a</think><think>{NOW}", strict=strict)) == "call_in_reasoning"
    assert fault(read(f"I would {NOW}</think>", strict=strict)) == "call_in_reasoning"
    failed = read(f"So.\n<think>{NOW}</think>", strict=strict)
    assert isinstance(failed, ParseFailed)
    assert failed.fault == "no_call"
    assert failed.detail == "there is no call; what looks like a call stands inside the reasoning"


@pytest.mark.parametrize(
    "text",
    [
        '<function_calls><invoke name="x">',
        "[TOOL_CALLS] x",
        "<|tool_call>x",
        "```tool_code\nx()\n```",
    ],
)
def test_other_ways_to_write_a_call_look_like_one(text: str) -> None:
    assert fault(read(text)) == "call_like_text"


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        (f"Sure: {NOW}", ("text",)),
        (f"```json\n{NOW}\n```", ("fence",)),
        (f"<tool_call>{NOW}</tool_call>", ("tags",)),
        (f"{NOW};", ("text",)),
        ('{"tool": "now", "args": {}}', ("key",)),
        ('{"name": "now", "arguments": {}, "id": 3}', ("key",)),
        ('{"name": "now"}', ("arguments",)),
        ('{"name": "now", "arguments": "{}"}', ("arguments",)),
        ('{"name": "now", "arguments": {},}', ("trailing_comma",)),
        ("{'name': 'now', 'arguments': {}}", ("python_literal",)),
        (f"{NOW}\n{NOW}", ("text", "first_of_several")),
        (f"```json\n{NOW}\n```\n```json\n{NOW}\n```", ("fence", "text", "first_of_several")),
    ],
)
def test_the_event_says_how_a_reply_was_repaired(text: str, repairs: tuple[str, ...]) -> None:
    parsed = read(text, strict=False)
    assert isinstance(parsed, Parsed)
    assert (parsed.repaired, parsed.repairs) == (True, repairs)
    assert Parsed.model_validate_json(parsed.model_dump_json()) == parsed


def test_a_bare_object_where_tags_are_asked_for_lacks_them() -> None:
    for text in (NOW, f"<tool_call>{NOW}"):
        parsed = read(text, form="hermes", strict=False)
        assert isinstance(parsed, Parsed)
        assert parsed.repairs == ("tags",)
    fenced = f"```json\n{NOW}\n```\n```json\n{NOW}\n```"
    assert len(calls(read(fenced, form="hermes", strict=False))) == 2


def test_what_was_read_by_the_letter_has_the_document_it_always_had() -> None:
    parsed = read(NOW)
    assert set(parsed.document()) == {"kind", "turn", "calls", "repaired"}
    assert set(parsed.model_dump()) == {"kind", "turn", "calls", "repaired"}
    assert set(WireFormat().document()) == {"format", "strict"}


def test_text_behind_a_lenient_call_that_looks_like_another_is_kept_in_the_event() -> None:
    parsed = read(f"{NOW} and then calculator(2*3)", strict=False)
    assert isinstance(parsed, Parsed)
    assert parsed.ignored == "and then calculator(2*3)"
    plain = read(f"{NOW} and then I wait", strict=False)
    assert isinstance(plain, Parsed)
    assert plain.ignored == ""


def test_objects_without_end_take_no_time(harness: Callable[..., Harness]) -> None:
    for text in ("{" * 50_000, "{'a':" * 10_000, '{"name": ' * 10_000, "[{" * 20_000):
        assert isinstance(read(text, strict=False), ParseFailed)
        assert isinstance(read(text + "</think>" * 99, strict=False), ParseFailed)


@given(st.text(max_size=200), st.booleans(), st.sampled_from(["json", "hermes", "native"]))
def test_no_text_breaks_the_reader(text: str, strict: bool, form: str) -> None:
    read(text, form=form, strict=strict)


@given(
    st.text(alphabet="{}[]\"':, name\\tool_calargumentsTrueNone12</>", max_size=120), st.booleans()
)
def test_no_near_json_breaks_the_reader(text: str, strict: bool) -> None:
    read('{"name": "now", "arguments": {' + text, strict=strict)
    read("{'name': 'now', " + text, strict=strict, form="hermes")
