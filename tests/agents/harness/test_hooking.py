"""Hooks inside an episode: what they change, what the student is told, what is recorded."""

from typing import Any

from evener.protocols.port import Observation
from evener.protocols.trajectory import Outcome

CALC = '{"name": "calculator", "arguments": {"expression": "2*3"}}'
FINAL = '{"name": "final", "arguments": {"answer": "6"}}'
WRONG = '{"name": "final", "arguments": {"answer": "7"}}'


def hooks(stage: str, text: str) -> str:
    return f"middleware: {{hooks: {{{stage}: [{text}]}}}}"


async def test_retry_repeats_a_passing_failure_and_tells_the_last(harness: Any, play: Any) -> None:
    made = harness(hooks("after_tool", "{name: retry}"))
    busy = Observation(text="busy", error_kind="transient")
    played = await play(made, [CALC, FINAL], faults=[busy, busy])
    assert played.told[0] == "6"
    acted = played.events("acted")
    assert [(e.error_kind, e.message) for e in acted] == [
        ("transient", None),
        ("transient", None),
        (None, 2),
        (None, 4),
    ]
    assert [e.effect for e in played.events("hook_fired")] == ["repeated", "repeated"]
    first = [e.kind for e in played.trajectory.events if e.turn == 0 and e.kind != "activated"]
    assert first[2:6] == ["acted", "hook_fired", "acted", "hook_fired"]
    assert "middleware.hooks.after_tool[retry]" in [e.part for e in played.events("activated")]


async def test_retry_gives_up_and_leaves_other_failures_alone(harness: Any, play: Any) -> None:
    made = harness(hooks("after_tool", "{name: retry, settings: {attempts: 2}}"))
    busy = Observation(text="busy", error_kind="transient")
    played = await play(made, [CALC, FINAL], faults=[busy, busy])
    assert played.told[0] == "busy"
    assert len(played.desk.calls) == 3
    bad = await play(made, [CALC.replace("2*3", "x"), FINAL])
    assert bad.events("hook_fired") == []


async def test_repair_call_reads_a_near_miss(harness: Any, play: Any) -> None:
    made = harness(hooks("after_model", "{name: repair_call}"))
    played = await play(made, [f"Sure: {CALC}", FINAL])
    assert played.told[0] == "6"
    assert played.events("parse_failed") == []
    assert played.events("parsed")[0].repaired
    assert played.events("hook_fired")[0].effect == "repaired"


async def test_repair_call_leaves_what_cannot_be_read(harness: Any, play: Any) -> None:
    made = harness(hooks("after_model", "{name: repair_call}"))
    played = await play(made, ['{"name": "calculator", "arguments": {', FINAL])
    assert played.events("hook_fired") == []
    assert played.events("parse_failed")[0].fault == "invalid_json"


async def test_require_action_asks_once(harness: Any, play: Any) -> None:
    for stage in ("after_model", "before_finish"):
        made = harness(hooks(stage, "{name: require_action, settings: {text: Use a tool.}}"))
        played = await play(made, ["It is 6.", FINAL])
        assert played.trajectory.outcome is Outcome.SOLVED
        assert played.told[0] == "Use a tool."
        assert played.trajectory.messages[2].origin == "hook"
        part = f"middleware.hooks.{stage}[require_action]"
        assert [(e.part, e.followed) for e in played.events("adhered")] == [(part, True)]
        stubborn = await play(made, ["It is 6."])
        assert stubborn.ended == "no_action"
        assert stubborn.trajectory.usage.calls == 2
        assert [(e.part, e.followed) for e in stubborn.events("adhered")] == [(part, False)]


async def test_verify_answer_asks_once_for_another_look(harness: Any, play: Any) -> None:
    made = harness(hooks("before_finish", "{name: verify_answer}"))
    played = await play(made, [CALC, WRONG, FINAL])
    assert played.told[1] == (
        "Your answer (7) is not the last result (6). Check it and answer again."
    )
    assert played.trajectory.outcome is Outcome.SOLVED
    assert len(played.desk.calls) == 2
    stubborn = await play(made, [CALC, WRONG])
    assert stubborn.ended == "final"
    right = await play(made, [CALC, FINAL])
    assert right.events("hook_fired") == []


async def test_validate_arguments_stops_what_the_environment_would_not_take(
    harness: Any, play: Any
) -> None:
    tools = """
tools:
- name: lookup
  parameters: {type: object, properties: {name: {type: string}}, required: [name]}
  action: lookup
- {name: final, action: final}
"""
    line = '{"name": "lookup", "arguments": {"name": "apple"}}'
    bare = await play(harness(tools=tools), [line, FINAL])
    assert bare.told[0] == "lookup: bad {'name': 'apple'}"
    guarded = harness(hooks("before_tool", "{name: validate_arguments}"), tools=tools)
    played = await play(guarded, [line, FINAL])
    assert played.told[0] == (
        "lookup was not called: there is no argument name (item). Did you mean item?"
    )
    assert [c.name for c in played.desk.calls] == ["final"]


async def test_loop_guard_tells_and_then_ends(harness: Any, play: Any) -> None:
    made = harness(hooks("before_tool", "{name: loop_guard, settings: {repeats: 2}}"))
    played = await play(made, [CALC])
    assert played.told == ["6", "You have tried exactly this 2 times. Do something else."]
    assert played.ended == "loop_guard"
    assert played.trajectory.usage.calls == 3
    assert [e.effect for e in played.events("hook_fired")] == ["blocked", "ended"]
    assert played.trajectory.outcome is Outcome.TRUNCATED


async def test_ask_for_help_shows_tools_and_an_example_again(harness: Any, play: Any) -> None:
    prompt = (
        "prompt: {examples: [[{role: user, content: q}, "
        "{role: assistant, call: {name: calculator, arguments: {expression: 1+1}}}]]}\n"
    )
    made = harness(prompt + hooks("after_tool", "{name: ask_for_help}"))
    bad = CALC.replace("expression", "sum")
    played = await play(made, [bad, bad, FINAL])
    refused = (
        "calculator was not called: there is no argument sum (expression). Did you mean expression?"
    )
    assert played.told[0] == (
        f"{refused}\nTools:\n"
        "calculator(expression: string): works an expression out\n"
        "lookup(item: string): gives a price\n"
        "final(answer: string): gives the answer\n"
        'Example:\n{"name": "calculator", "arguments": {"expression": "1+1"}}'
    )
    assert played.told[1] == refused
    unread = harness(prompt + hooks("after_model", "{name: ask_for_help}"))
    told = (await play(unread, ['{"name"', FINAL])).told[0]
    assert told.startswith("Nothing was executed: not valid JSON")
    assert "\nTools:\ncalculator(expression: string)" in told
