"""Marks, thoughts and arguments: what a template makes of a conversation, on token ids."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evener.agents.models.local.library import library
from evener.agents.models.local.render import Renderer
from evener.distill.rows.build import build_rows
from evener.distill.rows.mask import join, runs
from evener.distill.rows.reasoning import prompt_opens_block, thought_fault
from evener.distill.rows.template import drawn, end_of_turn, has_marks, marked_ids, marked_template
from evener.distill.settings import SftSettings
from evener.protocols.error import DataError
from evener.protocols.harness import Harness
from evener.protocols.message import Call, Message
from evener.protocols.model import ToolSpec
from evener.protocols.trajectory import Trajectory

SMOLLM2 = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
NO_MARKS = "{% for m in messages %}<{{m.role}}>{{m.content}}</{{m.role}}>{% endfor %}"
# keeps the thoughts of the last turn only, as Qwen3's does
FORGETFUL = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}"
    "{% if m.role == 'assistant' and not loop.last and '</think>' in m.content %}"
    "{{ m.content.split('</think>')[-1].lstrip('\n') }}{% else %}{{ m.content }}{% endif %}"
    "{{ '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
WITH_CALLS = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content }}"
    "{% for c in m.tool_calls or [] %}<tool_call>{{ {'name': c.function.name, "
    "'arguments': c.function.arguments} | tojson }}</tool_call>{% endfor %}"
    "{{ '<|im_end|>\n' }}{% endfor %}"
)


def with_template(student: Path, template: str) -> Renderer:
    tokenizer: Any = library("transformers").AutoTokenizer.from_pretrained(student)
    tokenizer.chat_template = template
    return Renderer(tokenizer)


def talk(*turns: tuple[str, str]) -> list[Message]:
    return [Message.model_validate({"role": role, "content": text}) for role, text in turns]


def test_the_marked_template_draws_the_same_text_and_marks_replies_with_their_end(
    student: Path,
) -> None:
    renderer = with_template(student, SMOLLM2)
    marked = marked_template(renderer, model="smol")
    assert has_marks(marked)
    conversation = talk(("user", "a 2"), ("assistant", "b\n3"), ("user", "c"), ("assistant", ""))
    plain = renderer.text(conversation, add_generation_prompt=False)
    assert drawn(renderer, conversation, marked) == plain
    ids, mask = marked_ids(renderer, conversation, marked)
    assert ids == renderer.ids(conversation, add_generation_prompt=False)
    texts = [renderer.tokenizer.decode(ids[a:b]) for a, b in runs(mask)]
    assert texts == ["b\n3<|im_end|>", "<|im_end|>"]


def test_the_template_s_mask_and_ours_are_one_on_every_row(
    student: Path, desk: Harness, solved: list[Trajectory]
) -> None:
    renderer = with_template(student, SMOLLM2)
    ours = build_rows(solved, desk, renderer, settings=SftSettings(), model="smol")
    both = build_rows(solved, desk, renderer, settings=SftSettings(mask="template"), model="smol")
    assert both == ours
    assert len(both.rows) == len(solved)


def test_a_template_without_marks_is_refused_with_two_ways_out(student: Path) -> None:
    """CT-01."""
    with pytest.raises(DataError, match="marks no assistant tokens") as caught:
        marked_template(with_template(student, NO_MARKS), model="some-model")
    assert "some-model" in str(caught.value)
    assert 'finetune.mask = "spans"' in str(caught.value)
    assert "{% generation %}" in str(caught.value)


def test_marks_that_leave_the_end_of_turn_out_are_refused(student: Path) -> None:
    short = SMOLLM2.replace(
        "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}",
        "{{'<|im_start|>' + message['role'] + '\n'}}{% if message['role'] == 'assistant' %}"
        "{% generation %}{{ message['content'] }}{% endgeneration %}{% else %}"
        "{{ message['content'] }}{% endif %}{{ '<|im_end|>' + '\n'}}",
    )
    with pytest.raises(DataError, match="not the assistant's text with its end-of-turn"):
        marked_template(with_template(student, short), model="m")


def test_the_end_of_a_turn_is_what_the_template_puts_there(student: Path) -> None:
    assert end_of_turn(with_template(student, SMOLLM2), model="m") == 2
    endless = "{% for m in messages %}{{ m.content }}{% endfor %}"
    with pytest.raises(DataError, match="no end-of-turn token"):
        end_of_turn(with_template(student, endless), model="m")


def test_thoughts_that_the_template_drops_later_are_trained_where_they_were_thought(
    student: Path,
) -> None:
    """CT-04: a row a turn, each with its own thoughts."""
    renderer = with_template(student, FORGETFUL)
    one = talk(("user", "plan a trip"))
    thought = "<think>\nneed dates\n</think>\n\nask_dates"
    two = [*one, *talk(("assistant", thought), ("user", "May 3-5"))]
    answer = "<think>\nfewer nights\n</think>\n\nTry two nights."
    replies = [[*renderer.encode(text), 2] for text in (thought, answer)]
    rows = join([(renderer.ids(one), replies[0]), (renderer.ids(two), replies[1])])
    assert [len(spans) for _, spans in rows] == [1, 1]
    trained = [renderer.tokenizer.decode(list(ids[a:b])) for ids, [(a, b)] in rows]
    assert trained == [f"{thought}<|im_end|>", f"{answer}<|im_end|>"]
    # a single row of the whole conversation would have lost the first thought
    whole = [*two, *talk(("assistant", answer))]
    assert "need dates" not in renderer.text(whole, add_generation_prompt=False)


def test_an_orphan_close_and_thoughts_behind_an_empty_block_are_errors() -> None:
    """CT-04."""
    orphan = "fewer nights first\n</think>\n\nTry two nights."
    assert thought_fault(orphan) == "orphan_close"
    assert thought_fault(orphan, opened=True) is None
    empty = f"<think>\n\n</think>\n\n{orphan}"
    assert thought_fault(empty) == "empty_block_then_thoughts"
    assert thought_fault("<think>one</think> two") is None
    assert thought_fault("<think>\n\n</think>\n\nTry two nights.") is None
    assert thought_fault("<think>on and on") == "never_closed"
    assert thought_fault("no thoughts") is None
    assert prompt_opens_block("<|im_start|>assistant\n<think>\n")
    assert not prompt_opens_block("<|im_start|>assistant\n")


async def test_a_row_with_misplaced_thoughts_is_refused(
    student: Path, desk: Harness, solved: list[Trajectory]
) -> None:
    renderer = with_template(student, SMOLLM2)
    episode = solved[0]
    broken = tuple(
        m.model_copy(update={"content": f"hm\n</think>\n{m.content}"}) if m.sampled else m
        for m in episode.messages
    )
    lenient = desk.model_copy(
        update={
            "middleware": desk.middleware.model_copy(
                update={"protocol": desk.middleware.protocol.model_copy(update={"strict": False})}
            )
        }
    )
    spoilt = episode.model_copy(update={"messages": broken})
    made = build_rows([spoilt], lenient, renderer, settings=SftSettings(), model="m")
    assert made.refused == {"misplaced_thoughts": 1}


def test_arguments_are_encoded_once_and_no_other_tool_s_keys_appear(student: Path) -> None:
    """CT-08: from the conversation to the ids that the trainer's table gives back."""
    renderer = with_template(student, WITH_CALLS)
    calls = [
        Call(name="add", arguments={"a": 1, "b": 2}),
        Call(name="say", arguments={"line": "hi"}),
    ]
    tools = [ToolSpec(name="add"), ToolSpec(name="say")]
    rows = [
        renderer.ids(
            [
                Message(role="user", content="go"),
                Message(role="assistant", content="", calls=(call,)),
            ],
            tools=tools,
            add_generation_prompt=False,
        )
        for call in calls
    ]
    table = library("datasets").Dataset.from_dict({"input_ids": rows, "labels": rows})
    assert [row["input_ids"] for row in table] == rows
    texts = [renderer.tokenizer.decode(row["input_ids"]) for row in table]
    assert '"arguments": {"a": 1, "b": 2}' in texts[0]
    assert '"arguments": {"line": "hi"}' in texts[1]
    assert not any("null" in text or '\\"' in text or "'" in text for text in texts)


def test_arguments_as_a_string_are_no_call() -> None:
    """CT-08: what a provider sends as text is decoded at the border or refused there."""
    with pytest.raises(ValidationError):
        Call.model_validate({"name": "add", "arguments": '{"a": 1, "b": 2}'})
