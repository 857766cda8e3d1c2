"""What the student reads: openings, examples, calls and results in each protocol."""

from collections.abc import Callable
from typing import Any

import pytest

from evener.agents.harness import render
from evener.agents.harness.load import parse_yaml
from evener.agents.harness.memory import kept, recalled
from evener.agents.harness.runtime import prepare
from evener.agents.harness.skill import active
from evener.protocols.digest import canonical
from evener.protocols.error import HarnessError
from evener.protocols.harness import Harness, Memory, Note, Skill, When

Make = Callable[..., Harness]

EXAMPLE = """
prompt:
  system: |-
    Desk.
    {{ tools }}
  task: "Task: {{ question }}"
  examples:
  - - {role: user, content: "How much is {{ tea }}?"}
    - {role: assistant, call: {name: lookup, arguments: {item: tea}}}
    - {role: tool, content: "5"}
    - {role: user, content: go on}
    - {role: assistant, call: {name: final, arguments: {answer: "5"}}}
"""


def test_the_opening_in_json(harness: Make) -> None:
    messages = render.opening(harness(EXAMPLE), "2 {apples}?")
    assert [(m.role, m.content, m.origin) for m in messages] == [
        (
            "system",
            "Desk.\n"
            "calculator(expression: string): works an expression out\n"
            "lookup(item: string): gives a price\n"
            "final(answer: string): gives the answer",
            "prompt",
        ),
        ("user", "Task: How much is {{ tea }}?", "example"),
        ("assistant", '{"name": "lookup", "arguments": {"item": "tea"}}', "example"),
        ("user", "5", "example"),
        ("user", "go on", "example"),
        ("assistant", '{"name": "final", "arguments": {"answer": "5"}}', "example"),
        ("user", "Task: 2 {apples}?", "prompt"),
    ]


def test_the_opening_in_hermes(harness: Make) -> None:
    made = harness(EXAMPLE + "middleware: {protocol: {format: hermes}}")
    contents = [m.content for m in render.opening(made, "?")]
    assert contents[2] == (
        '<tool_call>\n{"name": "lookup", "arguments": {"item": "tea"}}\n</tool_call>'
    )
    assert contents[3] == "<tool_result>5</tool_result>"


def test_the_opening_in_native_calls(harness: Make) -> None:
    made = harness(EXAMPLE + "middleware: {protocol: {format: native}}")
    messages = render.opening(made, "?")
    call = messages[2].calls[0]
    assert (messages[2].content, call.name, call.arguments) == ("", "lookup", {"item": "tea"})
    assert (messages[3].role, messages[3].call_id) == ("tool", call.id)


def test_braces_of_a_task_and_of_a_prompt_stay_as_they_are() -> None:
    text = r"""
name: h
prompt:
  task: 'Reply as {"answer": "..."} or \\boxed{x}. Task: {{ question }} {task}'
"""
    messages = render.opening(parse_yaml(text, where="h"), "3+4; use {braces} and {{ 7*7 }} {% x")
    assert messages[-1].content == (
        r'Reply as {"answer": "..."} or \\boxed{x}. Task: '
        "3+4; use {braces} and {{ 7*7 }} {% x {task}"
    )


def test_notes_and_skill_texts_are_data_and_stand_behind_the_system_text(harness: Make) -> None:
    made = harness("prompt: {system: Desk.}")
    skill = Skill(name="s", text="Use {{ lookup }} first.")
    notes = (Note(name="n", text="tea is {5}"),)
    messages = render.opening(made, "?", skills=(skill,), memory=notes)
    assert messages[0].content == "Desk.\n\nUse {{ lookup }} first.\n\n- tea is {5}"


def test_a_template_that_asks_for_notes_gets_them_there_and_only_there(harness: Make) -> None:
    made = harness('prompt: {system: "{{ skill }} Desk.", task: "{{ memory }}. {{ question }}"}')
    skill = Skill(name="s", text="Look up.")
    messages = render.opening(made, "?", skills=(skill,), memory=(Note(name="n", text="tea"),))
    assert [m.content for m in messages] == ["Look up. Desk.", "- tea. ?"]


def test_a_skill_replaces_system_and_examples_and_narrows_the_tools(harness: Make) -> None:
    more = """
skills:
- name: price
  when: {words: [cost]}
  system: "Prices. {% for t in tools %}<{{ t.name }}>{% endfor %}"
  tools: [lookup, final]
  examples: [[{role: user, content: q}, {role: assistant, content: a}]]
"""
    runtime = prepare(harness(EXAMPLE + more))
    opening = runtime.opening("What does it COST?", notes=())
    assert opening.offered == ("lookup", "final")
    assert [m.content for m in opening.messages] == [
        "Prices. <lookup><final>",
        "Task: q",
        "a",
        "Task: What does it COST?",
    ]
    assert [m.origin for m in opening.messages[1:3]] == ["skill", "skill"]
    assert runtime.opening("How many?", notes=()).offered == ("calculator", "lookup", "final")


def test_equal_harnesses_render_equally_whatever_the_order_of_their_objects(
    harness: Make,
) -> None:
    tools = """
tools:
- name: convert
  parameters:
    type: object
    properties: {value: {type: number}, from: {type: string}, to: {type: string}}
    required: [value, from, to]
  action: convert
"""
    more = """
prompt:
  system: "{{ tools }}"
  examples: [[{role: assistant, call: {name: convert, arguments:
    {value: 3, from: km, to: m}}}]]
"""
    made = harness(more, tools=tools)
    sorted_keys = Harness.model_validate_json(canonical(made.document()))
    assert made.digest() == sorted_keys.digest()
    messages = render.opening(made, "?")
    assert messages == render.opening(sorted_keys, "?")
    assert messages[0].content == "convert(value: number, from: string, to: string)"
    assert '{"value": 3, "from": "km", "to": "m"}' in messages[1].content


def test_the_runtime_opens_as_the_renderer_does(harness: Make) -> None:
    made = harness(EXAMPLE)
    runtime = prepare(made)
    assert runtime.opening("x?", notes=()).messages == render.opening(made, "x?")
    again = runtime.opening("y?", notes=()).messages
    assert again[0] is runtime.opening("x?", notes=()).messages[0]
    assert again[-1].content == "Task: y?"


def test_equal_harnesses_share_one_runtime(harness: Make) -> None:
    assert prepare(harness(EXAMPLE)) is prepare(harness(EXAMPLE))
    assert prepare(harness()) is not prepare(harness(EXAMPLE))


def test_a_template_that_cannot_be_filled_in_says_so() -> None:
    made = parse_yaml('name: h\nprompt: {task: "{{ question | number }}"}', where="h")
    assert render.opening(made, "3 apples")[-1].content == "3"
    with pytest.raises(HarnessError, match=r"prompt.task: .*no number in 'apples'"):
        render.opening(made, "apples")


@pytest.mark.parametrize(
    ("word", "question", "fires"),
    [
        ("cost", "What does it cost?", True),
        ("cost", "COST!", True),
        ("cost", "costly", False),
        ("how much", "How \n much is it", True),
        ("$", "it is $5", True),
        ("kg", "5kg", False),
        ("kg", "5 kg.", True),
        ("straße", "STRASSE", True),
        ("a.b", "axb", False),
    ],
)
def test_a_skill_fires_on_whole_words(word: str, question: str, fires: bool) -> None:
    skill = Skill(name="s", when=When(words=(word,)))
    assert bool(active((skill,), question)) is fires


def test_a_skill_without_a_trigger_is_always_active() -> None:
    assert active((Skill(name="s"),), "anything")
    assert not active((Skill(name="s", when=When(tools=("t",))),), "anything")


def notes(*texts: str) -> tuple[Note, ...]:
    return tuple(Note(name=f"n{i}", text=text) for i, text in enumerate(texts))


def test_memory_none_notes_and_retrieval() -> None:
    entries = notes("apples cost 3", "pears cost 4", "the shop opens at nine")

    def names(policy: Any, question: str) -> list[str]:
        memory = Memory(policy=policy, entries=entries, top_k=1)
        return [note.name for note in recalled(memory, question)]

    assert names("none", "apples?") == []
    assert names("notes", "apples?") == ["n0", "n1", "n2"]
    assert names("retrieval", "What do pears cost?") == ["n1"]
    assert names("retrieval", "When does the shop open?") == ["n2"]
    assert names("retrieval", "zebra") == []


def test_memory_beyond_capacity_loses_the_oldest() -> None:
    memory = Memory(policy="notes", entries=notes("a", "b", "c"), capacity=2)
    assert [note.name for note in kept(memory)] == ["n1", "n2"]
    assert [note.name for note in recalled(memory, "a")] == ["n1", "n2"]
