"""The window keeps the opening and whole turns; every part says when it acted and was followed."""

from typing import Any

from evener.agents.harness.context import Account
from evener.agents.harness.replay import views
from evener.protocols.harness import Context
from evener.protocols.message import Message

CALC = '{"name": "calculator", "arguments": {"expression": "2*3"}}'
FINAL = '{"name": "final", "arguments": {"answer": "6"}}'
LOOK = '{"name": "lookup", "arguments": {"item": "apple"}}'


def say(content: str, role: Any = "user") -> Message:
    return Message(role=role, content=content)


def account(turns: int) -> Account:
    made = Account()
    made.open([say("s" * 40, "system"), say("q" * 40)])
    for _ in range(turns):
        made.reply(say("a" * 20, "assistant"))
        made.answer([say("r" * 20)])
    return made


def test_all_keeps_everything() -> None:
    shown = account(3).show(Context(policy="all", keep_tokens=1))
    assert shown.indices == tuple(range(8))
    assert shown.dropped == ()
    assert shown.tokens == 50


def test_the_window_counts_the_opening_and_keeps_whole_turns() -> None:
    made = account(3)
    assert made.show(Context(keep_tokens=50)).dropped == ()
    assert made.show(Context(keep_tokens=49)).dropped == (2, 3)
    assert made.show(Context(keep_tokens=40)).indices == (0, 1, 4, 5, 6, 7)
    assert made.show(Context(keep_tokens=39)).indices == (0, 1, 6, 7)
    assert made.show(Context(keep_tokens=1)).indices == (0, 1)


def test_a_new_opening_keeps_the_messages_it_shares_with_the_old() -> None:
    made = account(1)
    made.open([say("new", "system"), say("q" * 40)])
    assert made.show(Context(policy="all")).indices == (4, 1, 2, 3)


async def test_a_window_that_drops_the_result_is_an_event_that_names_it(
    harness: Any, play: Any
) -> None:
    narrow = harness("middleware: {context: {keep_tokens: 5}, loop: {max_turns: 3}}")
    played = await play(narrow, [CALC, FINAL])
    cut = played.events("context_cut")[0]
    assert cut.dropped == (1, 2)
    assert played.events("acted")[0].message in cut.dropped
    assert (cut.turn, cut.keep_tokens) == (1, 5)
    assert [m.content for m in played.student.requests[1].messages] == ["What is 2*3?"]
    assert "middleware.context" in [e.part for e in played.events("activated")]


ACTIVE = """
prompt: {examples: [[{role: assistant, call: {name: calculator}}]]}
skills:
- {name: prices, when: {words: [cost]}, tools: [lookup, final], text: Look it up.}
- {name: after, when: {tools: [lookup]}, text: Now answer.}
memory: {policy: notes, capacity: 1, entries: [{name: old, text: a}, {name: new, text: b}]}
"""


async def test_parts_that_acted_and_parts_that_were_followed(harness: Any, play: Any) -> None:
    played = await play(harness(ACTIVE), [LOOK, FINAL], question="What does it cost?")
    assert [(e.turn, e.part) for e in played.events("activated")] == [
        (0, "memory"),
        (0, "skills[prices]"),
        (0, "prompt.examples"),
        (1, "skills[after]"),
    ]
    assert [(e.part, e.followed) for e in played.events("adhered")] == [
        ("prompt.examples", False),
        ("skills[prices]", True),
    ]
    assert [(e.action, e.entry) for e in played.events("remembered")] == [
        ("evicted", "old"),
        ("recalled", "new"),
    ]


async def test_a_skill_nobody_followed_is_said_not_to_be(harness: Any, play: Any) -> None:
    played = await play(harness(ACTIVE), [FINAL], question="What does it cost?")
    assert ("skills[prices]", False) in [(e.part, e.followed) for e in played.events("adhered")]


async def test_a_skill_that_waits_for_a_tool_joins_in_the_middle(harness: Any, play: Any) -> None:
    played = await play(harness(ACTIVE), [LOOK, FINAL])
    first, second = (request.messages for request in played.student.requests)
    assert "Now answer." not in first[0].content
    assert "Now answer." in second[0].content
    assert [m.content for m in second[1:]] == [*[m.content for m in first[1:]], LOOK, "3"]


async def test_what_mended_a_call_is_activated_by_its_path(harness: Any, play: Any) -> None:
    tools = """
tools:
- name: lookup
  parameters: {type: object, properties: {item: {type: string}}, required: [item]}
  arguments: {item: {names: [thing], strip: true}}
  aliases: [find]
  action: lookup
- {name: final, action: final}
"""
    line = '{"name": "find", "arguments": {"thing": " apple"}}'
    played = await play(harness(tools=tools), [line, FINAL])
    assert [e.part for e in played.events("activated")] == [
        "tools[lookup].aliases",
        "tools[lookup].arguments.item",
    ]
    assert [e.rule for e in played.events("coerced")] == ["tool_alias", "argument_name", "strip"]
    assert played.told[0] == "3"


async def test_a_first_screen_of_its_own_stays_with_the_opening(harness: Any, play: Any) -> None:
    narrow = harness("middleware: {context: {keep_tokens: 1}}")
    played = await play(narrow, [CALC, FINAL], screen="Welcome to the desk.")
    for request in played.student.requests:
        assert [m.content for m in request.messages] == ["What is 2*3?", "Welcome to the desk."]
    replayed = views(narrow, played.trajectory)
    assert [view.context for view in replayed] == [r.messages for r in played.student.requests]


async def test_several_calls_read_leniently_say_which_was_made(harness: Any, play: Any) -> None:
    lenient = harness("middleware: {protocol: {strict: false}}")
    played = await play(lenient, [f"{LOOK}\n{CALC}", FINAL])
    assert played.told[0] == "3\nOnly the first of 2 calls was executed. Make one call at a time."
    assert [c.name for c in played.desk.calls] == ["lookup", "final"]
    assert "middleware.protocol.strict" in [e.part for e in played.events("activated")]
