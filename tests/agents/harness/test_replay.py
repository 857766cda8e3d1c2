"""A recorded episode seen again: as it was served, and as another harness would serve it."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evener.agents.harness.replay import views
from evener.protocols.message import Call
from evener.protocols.model import ModelRef, Reply, StopReason
from evener.protocols.port import Observation

REF = ModelRef(base="said", revision="0" * 8)
CALC = '{"name": "calculator", "arguments": {"expression": "2*3"}}'
FINAL = '{"name": "final", "arguments": {"answer": "6"}}'
HERMES = "middleware: {protocol: {format: hermes}}"
PROMPT = """
prompt:
  system: "Desk. {{ tools }}"
  examples: [[{role: user, content: q}, {role: assistant, call: {name: final}}]]
"""
BUSY = """
middleware:
  protocol: {strict: false}
  context: {keep_tokens: 150, tool_output_tokens: 20}
  hooks:
    after_model: [{name: require_action}]
    before_tool: [{name: loop_guard, settings: {repeats: 2}}]
    after_tool: [{name: ask_for_help}, {name: retry, settings: {attempts: 2}}]
    before_finish: [{name: verify_answer}]
skills:
- {name: after, when: {tools: [lookup]}, text: "Now answer."}
memory: {policy: retrieval, entries: [{name: n, text: "What is known of 2"}]}
"""
LINES = [
    "I would say 6.",
    '{"name": "lookup", "arguments": {"items": "apple"}}',
    '{"name": "lookup", "arguments": {"item": "apple"}}',
    f"Now {CALC} and {CALC}",
    '{"name": "calculator", "arguments": {',
    CALC,
    FINAL.replace("6", "7"),
    FINAL,
]
FAULTS = [
    Observation(text="busy", error_kind="timeout"),
    Observation(text="3" * 300),
]


def served(played: Any) -> list[Any]:
    return [request.messages for request in played.student.requests]


@pytest.mark.parametrize("form", ["json", "hermes"])
async def test_under_its_own_harness_a_replay_is_what_the_model_was_shown(
    harness: Any, play: Any, form: str
) -> None:
    made = harness(PROMPT + BUSY.replace("strict: false", f"strict: false, format: {form}"))
    played = await play(made, LINES, faults=FAULTS)
    kinds = {event.kind for event in played.trajectory.events}
    assert {"context_cut", "output_cut", "hook_fired", "parse_failed", "call_refused"} <= kinds
    assert {e.effect for e in played.events("hook_fired")} == {"reminded", "repeated", "blocked"}
    assert len(played.student.requests) == len(LINES)
    replayed = views(made, played.trajectory)
    assert [view.context for view in replayed] == served(played)
    assert [view.response.content for view in replayed] == LINES
    messages = played.trajectory.messages
    for view, event in zip(replayed, played.events("replied"), strict=True):
        assert view.context == tuple(messages[index] for index in event.context)
        assert view.response == messages[event.message]


@pytest.mark.parametrize("form", ["json", "hermes"])
async def test_what_was_told_is_put_together_again_from_the_events_alone(
    harness: Any, play: Any, form: str
) -> None:
    """A harness that differs in its name only renders everything anew, to the same words."""
    made = harness(PROMPT + BUSY.replace("strict: false", f"strict: false, format: {form}"))
    played = await play(made, LINES, faults=FAULTS)
    other = made.model_copy(update={"name": "other"})
    assert [view.context for view in views(other, played.trajectory)] == served(played)


POOL = [
    *LINES,
    "",
    "lookup(apple)",
    f"<tool_call>{CALC}</tool_call>",
    f"<tool_call>\n{CALC}\n{FINAL.replace('6', '9')}\n</tool_call>",
    '<tool_call>{"name": "fly", "arguments": {}}</tool_call>',
    "It is 6. <DONE>",
    "{'name': 'lookup', 'arguments': {'item': 'pear'}}",
]
HOOKS = {
    "after_model": ["repair_call", "require_action", "ask_for_help"],
    "before_tool": ["loop_guard", "validate_arguments"],
    "after_tool": ["retry", "ask_for_help"],
    "before_finish": ["verify_answer", "require_action"],
}
FAULTY = [Observation(text="x" * n, error_kind=k) for n in (0, 9, 99) for k in (None, "timeout")]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)
@given(st.data())
def test_whatever_happens_a_replay_is_what_was_served(
    harness: Any, play: Any, data: st.DataObject
) -> None:
    chosen = {
        stage: data.draw(st.lists(st.sampled_from(n), unique=True)) for stage, n in HOOKS.items()
    }
    hooks = {stage: [{"name": name} for name in names] for stage, names in chosen.items()}
    form = data.draw(st.sampled_from(["json", "hermes"]))
    made = harness(
        f"""
prompt: {{system: "{{{{ tools }}}}", examples: [[{{role: assistant, call: {{name: final}}}}]]}}
skills: [{{name: s, when: {{tools: [lookup]}}, tools: [calculator, final], text: Go on.}}]
middleware:
  protocol: {{format: {form}, strict: {str(data.draw(st.booleans())).lower()}}}
  loop: {{max_turns: 6, stop: [<DONE>]}}
  context: {{keep_tokens: {data.draw(st.integers(1, 200))}, tool_output_tokens: 10}}
  hooks: {json.dumps(hooks)}
"""
    )
    lines = data.draw(st.lists(st.sampled_from(POOL), min_size=1, max_size=6))
    faults = data.draw(st.lists(st.sampled_from(FAULTY), max_size=4))
    played = asyncio.run(play(made, lines, faults=faults))
    assert [view.context for view in views(made, played.trajectory)] == served(played)
    other = made.model_copy(update={"name": "other"})
    assert [view.context for view in views(other, played.trajectory)] == served(played)
    assert len(played.student.requests) <= 6
    again = type(played.trajectory).model_validate_json(played.trajectory.model_dump_json())
    assert again.digest() == played.trajectory.digest()


async def test_native_calls_and_results_come_back_with_their_ids(harness: Any, play: Any) -> None:
    native = harness(
        "middleware: {protocol: {format: native}, hooks: {before_tool: [{name: loop_guard, "
        "settings: {repeats: 2}}]}}"
    )
    lookup = Call(name="lookup", arguments={"item": "apple"})
    bad = Call(name="fly")
    end = Call(name="final", arguments={"answer": "6"})

    def say(*calls: Call) -> Reply:
        return Reply(text="", calls=calls, stop_reason=StopReason.TOOL_CALLS, model=REF)

    played = await play(native, [say(lookup, bad, lookup), say(bad, end)])
    assert [view.context for view in views(native, played.trajectory)] == served(played)
    other = native.model_copy(update={"name": "other"})
    assert [view.context for view in views(other, played.trajectory)] == served(played)


async def test_another_opening_takes_the_place_of_the_old_one(harness: Any, play: Any) -> None:
    played = await play(harness(PROMPT), [CALC, FINAL])
    plain = harness('prompt: {system: Short., task: "Q: {{ question }}"}')
    first, second = views(plain, played.trajectory)
    assert [m.content for m in first.context] == ["Short.", "Q: What is 2*3?"]
    assert [m.content for m in second.context] == ["Short.", "Q: What is 2*3?", CALC, "6"]
    assert first.response.content == CALC
    assert first.response.sampled
    assert (first.fault, second.fault) == (None, None)


async def test_another_protocol_writes_calls_and_results_anew(harness: Any, play: Any) -> None:
    said = Reply(text=CALC, token_ids=(1, 2, 3), model=REF)
    played = await play(harness(), [said, FINAL])
    same = views(harness(PROMPT), played.trajectory)[0]
    assert same.response.token_ids == (1, 2, 3)
    first, second = views(harness(HERMES), played.trajectory)
    assert first.response.content == f"<tool_call>\n{CALC}\n</tool_call>"
    assert first.response.token_ids is None
    assert second.context[-1].content == "<tool_result>6</tool_result>"
    back = await play(harness(HERMES), [f"<tool_call>{CALC}</tool_call>", "<tool_call>"])
    assert views(harness(), back.trajectory)[0].response.content == CALC


async def test_each_output_is_cut_by_its_own_length(harness: Any, play: Any) -> None:
    made = harness("middleware: {protocol: {format: hermes}, context: {tool_output_tokens: 10}}")
    block = f"<tool_call>{CALC}</tool_call>"
    faults = [Observation(text="short"), Observation(text="x" * 70_000)]
    played = await play(made, [block + block, block], faults=faults)
    assert "[showing 40 of 70000 characters]" in played.told[0]
    other = made.model_copy(update={"name": "other"})
    assert [view.context for view in views(other, played.trajectory)] == served(played)


async def test_a_call_the_serving_harness_lacks_is_named(harness: Any, play: Any) -> None:
    played = await play(harness(), [CALC, FINAL])
    without = "tools:\n- {name: final, action: final}\n"
    first, second = views(harness(tools=without), played.trajectory)
    assert (first.fault, second.fault) == ("unknown_tool", None)
    assert "calculator" in first.detail
    narrowed = harness("skills: [{name: s, tools: [final]}]")
    assert views(narrowed, played.trajectory)[0].fault == "not_offered"


async def test_a_reply_that_strict_serving_could_not_read_is_named(harness: Any, play: Any) -> None:
    lenient = harness("middleware: {protocol: {strict: false}}")
    played = await play(lenient, [f"Sure: {CALC}", FINAL])
    assert [view.fault for view in views(lenient, played.trajectory)] == [None, None]
    first, second = views(harness(), played.trajectory)
    assert (first.fault, second.fault) == ("not_readable", None)
    mending = harness("middleware: {hooks: {after_model: [{name: repair_call}]}}")
    assert views(mending, played.trajectory)[0].fault is None


async def test_arguments_the_serving_schema_refuses_are_named(harness: Any, play: Any) -> None:
    played = await play(harness(), [CALC, FINAL])
    renamed = harness()
    tool = renamed.tools[0].model_copy(
        update={"parameters": {"type": "object", "properties": {"sum": {}}, "required": ["sum"]}}
    )
    other = renamed.model_copy(update={"tools": (tool, *renamed.tools[1:])})
    assert views(other, played.trajectory)[0].fault == "bad_arguments"


async def test_the_serving_window_and_cut_apply(harness: Any, play: Any) -> None:
    long = Observation(text="7" * 400)
    played = await play(harness(), [CALC, CALC, FINAL], faults=[long, long])
    narrow = harness("middleware: {context: {keep_tokens: 60, tool_output_tokens: 20}}")
    third = views(narrow, played.trajectory)[2]
    assert [m.role for m in third.context] == ["user", "assistant", "user"]
    assert third.context[-1].content == "7" * 80 + "\n[showing 80 of 400 characters]"
