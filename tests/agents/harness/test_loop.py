"""Episodes end to end: what the student is shown, what is executed, how it ends, what it scores."""

import asyncio
from typing import Any

import pytest

from evener.protocols.error import BudgetError, ContextExceeded, HarnessError, InfraError
from evener.protocols.model import ModelRef, Reply, StopReason, Usage
from evener.protocols.port import Observation
from evener.protocols.trajectory import Outcome

CALC = '{"name": "calculator", "arguments": {"expression": "2*3"}}'
FINAL = '{"name": "final", "arguments": {"answer": "6"}}'
REF = ModelRef(base="said", revision="0" * 8)


async def test_a_right_answer_is_solved_by_the_environments_word(harness: Any, play: Any) -> None:
    played = await play(harness(), [CALC, FINAL])
    trajectory = played.trajectory
    assert trajectory.outcome is Outcome.SOLVED
    assert trajectory.reward == 1.0
    assert played.ended == "final"
    assert trajectory.usage.calls == 2
    assert [c.name for c in played.desk.calls] == ["calculator", "final"]
    assert trajectory.id == trajectory.key.id()


async def test_the_student_sees_task_call_and_result_in_order(harness: Any, play: Any) -> None:
    played = await play(harness("prompt: {system: Use tools.}"), [CALC, FINAL])
    shown = [(m.role, m.content) for m in played.student.requests[1].messages]
    assert shown == [
        ("system", "Use tools."),
        ("user", "What is 2*3?"),
        ("assistant", CALC),
        ("user", "6"),
    ]


async def test_every_event_points_at_the_message_it_speaks_of(harness: Any, play: Any) -> None:
    played = await play(harness(), [CALC, FINAL])
    messages = played.trajectory.messages
    for request, event in zip(played.student.requests, played.events("replied"), strict=True):
        assert tuple(messages[i] for i in event.context) == request.messages
        assert messages[event.message].sampled
    assert [messages[e.message].content for e in played.events("acted")] == ["6", "done"]


async def test_a_wrong_answer_failed(harness: Any, play: Any) -> None:
    played = await play(harness(), ['{"name": "final", "arguments": {"answer": "7"}}'])
    assert played.trajectory.outcome is Outcome.FAILED
    assert played.trajectory.reward == 0.0


async def test_out_of_turns_is_truncated(harness: Any, play: Any) -> None:
    played = await play(harness("middleware: {loop: {max_turns: 3}}"), [CALC])
    assert played.trajectory.outcome is Outcome.TRUNCATED
    assert played.ended == "max_turns"
    assert played.trajectory.usage.calls == 3
    assert len(played.student.requests) == 3


async def test_right_in_the_very_last_turn_is_solved(harness: Any, play: Any) -> None:
    played = await play(harness("middleware: {loop: {max_turns: 2}}"), [CALC, FINAL])
    assert played.trajectory.outcome is Outcome.SOLVED


async def test_a_plain_answer_ends_the_episode(harness: Any, play: Any) -> None:
    played = await play(harness(), ["It is 6."])
    assert played.ended == "no_action"
    assert played.trajectory.outcome is Outcome.FAILED
    assert [e.fault for e in played.events("parse_failed")] == ["no_call"]


async def test_a_stop_string_ends_the_episode_only_without_a_call(harness: Any, play: Any) -> None:
    stopping = harness("middleware: {loop: {stop: ['<DONE>']}}")
    played = await play(stopping, [CALC + "<DONE>", "It is 6. <DONE>"])
    assert played.ended == "stop_string"
    assert [c.name for c in played.desk.calls] == ["calculator"]
    assert played.student.requests[0].sampling.stop == ("<DONE>",)


async def test_a_reply_cut_by_length_is_never_executed(harness: Any, play: Any) -> None:
    cut = Reply(text=CALC, stop_reason=StopReason.LENGTH, model=REF)
    played = await play(harness("middleware: {protocol: {strict: false}}"), [cut, FINAL])
    assert [c.name for c in played.desk.calls] == ["final"]
    assert played.events("parse_failed")[0].fault == "cut_by_length"
    assert "512 tokens" in played.told[0]
    assert "Be brief" in played.told[0]


async def test_an_episode_that_ends_on_a_cut_reply_is_truncated(harness: Any, play: Any) -> None:
    cut = Reply(text="", stop_reason=StopReason.LENGTH, model=REF)
    played = await play(harness("middleware: {loop: {max_turns: 1}}"), [cut])
    assert played.trajectory.outcome is Outcome.TRUNCATED


async def test_a_made_up_tool_is_told_with_the_real_names(harness: Any, play: Any) -> None:
    played = await play(harness(), ['{"name": "calculate", "arguments": {}}', FINAL])
    refused = played.events("call_refused")[0]
    assert (refused.reason, refused.nearest) == ("unknown_tool", "calculator")
    assert played.told[0] == (
        "There is no tool 'calculate'. Did you mean calculator? Tools: calculator, lookup, final."
    )
    assert played.trajectory.outcome is Outcome.SOLVED


async def test_the_same_made_up_tool_for_ever_ends_with_a_name(harness: Any, play: Any) -> None:
    guarded = harness("middleware: {hooks: {before_tool: [{name: loop_guard}]}}")
    played = await play(guarded, ['{"name": "python_exec", "arguments": {"code": "print(2)"}}'])
    assert played.ended == "loop_guard"
    assert played.trajectory.usage.calls == 4
    assert played.trajectory.outcome is Outcome.TRUNCATED
    assert "exactly this 3 times" in played.told[2]


async def test_the_same_broken_reply_for_ever_ends_with_a_name(harness: Any, play: Any) -> None:
    guarded = harness("middleware: {hooks: {before_tool: [{name: loop_guard}]}}")
    played = await play(guarded, ['{"name": "calculator", "arguments": {'])
    assert played.ended == "loop_guard"
    assert played.trajectory.usage.calls == 4


async def test_a_broken_engine_is_infra_without_a_reward(harness: Any, play: Any) -> None:
    played = await play(harness(), [CALC, InfraError("out of memory", kind="engine")])
    assert played.trajectory.outcome is Outcome.INFRA
    assert played.trajectory.reward is None
    assert played.trajectory.score.value is None
    assert played.trajectory.score.error_kind == "engine"
    assert played.ended == "infra"


@pytest.mark.parametrize("fault", [InfraError("disk", kind="sandbox"), ValueError("a bug")])
async def test_a_broken_environment_is_infra(harness: Any, play: Any, fault: Exception) -> None:
    played = await play(harness(), [CALC], faults=[fault])
    assert played.trajectory.outcome is Outcome.INFRA
    assert played.trajectory.reward is None


async def test_a_last_reply_that_the_environment_fails_to_read_is_infra(
    harness: Any, play: Any, deaf: Any
) -> None:
    stopping = harness("middleware: {loop: {stop: ['DONE']}}")
    played = await play(stopping, ["It is 6. DONE"], sits=deaf)
    assert played.trajectory.outcome is Outcome.INFRA
    assert played.trajectory.reward is None
    assert "letters are too many" in played.events("ended")[0].detail


async def test_a_full_context_ends_under_its_own_name(harness: Any, play: Any) -> None:
    full = ContextExceeded(prompt_tokens=9000, window=8192)
    played = await play(harness(), [CALC, full])
    assert played.ended == "context_exceeded"
    assert played.trajectory.outcome is Outcome.TRUNCATED
    assert "9000" in played.events("ended")[0].detail


async def test_a_used_up_budget_is_no_episodes_end(harness: Any, play: Any) -> None:
    with pytest.raises(BudgetError):
        await play(harness(), [BudgetError("calls", used=2, limit=1)])


async def test_a_harness_that_does_not_fit_is_refused_before_the_first_turn(
    harness: Any, play: Any
) -> None:
    other = "tools: [{name: final, action: final}, {name: fly, action: fly}]\n"
    with pytest.raises(HarnessError, match=r"tools\[fly\].action"):
        await play(harness(tools=other), [FINAL])


async def test_out_of_time_is_an_observation(harness: Any, play: Any) -> None:
    slow = "- {name: wait, timeout_s: 0.01, action: wait}\n"
    played = await play(
        harness("", tools=_tools(slow)), ['{"name": "wait", "arguments": {"seconds": 30}}', FINAL]
    )
    assert played.events("acted")[0].error_kind == "timeout"
    assert "0.01 seconds" in played.told[0]
    assert played.desk.running == 0
    assert played.trajectory.outcome is Outcome.SOLVED


def _tools(more: str) -> str:
    return f"tools:\n- {{name: final, action: final}}\n{more}"


async def test_cancelling_during_a_tool_call_ends_at_once_and_leaves_nothing(
    harness: Any, play: Any
) -> None:
    slow = harness("", tools=_tools("- {name: wait, action: wait}\n"))
    line = '{"name": "wait", "arguments": {"seconds": 30}}'
    before = asyncio.all_tasks()
    other = asyncio.create_task(play(harness(), [CALC, FINAL]))
    episode = asyncio.create_task(play(slow, [line]))
    await asyncio.sleep(0.1)
    episode.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(episode, 15)  # the tool itself would take 30 s
    assert (await other).trajectory.outcome is Outcome.SOLVED
    assert asyncio.all_tasks() == before


async def test_huge_output_is_cut_and_says_so(harness: Any, play: Any) -> None:
    short = harness("middleware: {context: {tool_output_tokens: 500}}")
    played = await play(short, [CALC, FINAL], faults=[Observation(text="x" * 5_000_000)])
    assert played.told[0] == "x" * 2000 + "\n[showing 2000 of 5000000 characters]"
    cut = played.events("output_cut")[0]
    assert (cut.before, cut.after) == (5_000_000, 2000)
    assert played.events("acted")[0].truncated
    assert len(played.events("acted")[0].observation) == 65_536
    assert played.trajectory.outcome is Outcome.SOLVED


async def test_output_that_just_fits_is_not_cut(harness: Any, play: Any) -> None:
    short = harness("middleware: {context: {tool_output_tokens: 500}}")
    played = await play(short, [CALC, FINAL], faults=[Observation(text="x" * 2000)])
    assert played.told[0] == "x" * 2000
    assert played.events("output_cut") == []
    assert not played.events("acted")[0].truncated


async def test_binary_output_is_made_text_and_flagged(harness: Any, play: Any) -> None:
    raw = bytes(range(256)).decode("utf-8", "surrogateescape")
    played = await play(harness(), [CALC, FINAL], faults=[Observation(text=raw)])
    assert "unprintable characters replaced" in played.told[0]
    played.trajectory.model_dump_json().encode("utf-8")
    assert "abc" in played.told[0]


async def test_an_empty_result_is_said_to_be_empty(harness: Any, play: Any) -> None:
    played = await play(harness(), [CALC, FINAL], faults=[Observation(text="")])
    assert played.told[0] == "(no output)"


async def test_each_turn_has_its_own_seed_and_each_attempt_others(harness: Any, play: Any) -> None:
    first = await play(harness(), [CALC, CALC, FINAL])
    again = await play(harness(), [CALC, CALC, FINAL])
    other = await play(harness(), [CALC, CALC, FINAL], attempt=1)
    seeds = [r.sampling.seed for r in first.student.requests]
    assert len(set(seeds)) == 3
    assert [r.sampling.seed for r in again.student.requests] == seeds
    assert not set(seeds) & {r.sampling.seed for r in other.student.requests}


async def test_tasks_share_no_noise_and_harnesses_on_one_task_do(harness: Any, play: Any) -> None:
    here = await play(harness(), [CALC, FINAL])
    there = await play(harness(), [CALC, FINAL], named="t2")
    lighter = await play(harness().model_copy(update={"name": "other"}), [CALC, FINAL])
    first, second, third = (
        [request.sampling.seed for request in played.student.requests]
        for played in (here, there, lighter)
    )
    assert not set(first) & set(second)
    assert first == third


async def test_half_a_surrogate_pair_of_a_student_can_be_stored(harness: Any, play: Any) -> None:
    played = await play(harness(), ["so \ud83d it is", FINAL])
    played.trajectory.model_dump_json().encode("utf-8")


async def test_a_composite_fills_its_steps_in_and_tells_the_last(harness: Any, play: Any) -> None:
    quote = """
- name: quote
  parameters:
    type: object
    properties: {item: {type: string}, quantity: {type: integer}}
    required: [item, quantity]
  steps:
  - {action: lookup, arguments: {item: "{{ item }}"}}
  - {action: calculator, arguments: {expression: "{{ quantity }}*{{ result | number }}"}}
"""
    line = '{"name": "quote", "arguments": {"item": "pear", "quantity": "6"}}'
    made = harness("", tools=_tools(quote))
    played = await play(made, [line, FINAL])
    assert played.told[0] == "24"
    acted = played.events("acted")
    assert [(e.tool, e.call.name, e.message) for e in acted[:2]] == [
        ("quote", "lookup", None),
        ("quote", "calculator", 2),
    ]
    failed = await play(made, [line.replace("pear", "{{ 7*7 }}"), FINAL])
    assert failed.told[0] == "lookup: bad {'item': '{{ 7*7 }}'}"


async def test_native_calls_have_our_ids_and_a_result_each(harness: Any, play: Any) -> None:
    from evener.protocols.message import Call

    native = harness("middleware: {protocol: {format: native}}")
    twice = tuple(
        Call(id="call_0", name="calculator", arguments={"expression": text})
        for text in ("2*3", "3*3")
    )
    end = (Call(id="call_0", name="final", arguments={"answer": "6"}),)
    played = await play(
        native,
        [
            Reply(text="", calls=twice, stop_reason=StopReason.TOOL_CALLS, model=REF),
            Reply(text="", calls=end, stop_reason=StopReason.TOOL_CALLS, model=REF),
        ],
    )
    assert [c.arguments.get("expression") for c in played.desk.calls] == ["2*3", "3*3", None]
    shown = played.student.requests[1].messages
    assert [(m.role, m.content, m.call_id) for m in shown[1:]] == [
        ("assistant", "", ""),
        ("tool", "6", "call_0_0"),
        ("tool", "9", "call_0_1"),
    ]
    assert [c.id for c in shown[1].calls] == ["call_0_0", "call_0_1"]
    assert [c.id for c in played.trajectory.messages[4].calls] == ["call_1_0"]
    assert played.student.requests[0].tools[0].name == "calculator"


async def test_a_native_call_at_the_token_limit_is_not_executed(harness: Any, play: Any) -> None:
    from evener.protocols.message import Call

    native = harness("middleware: {protocol: {format: native}, loop: {max_reply_tokens: 64}}")
    cut = Reply(
        text="",
        calls=(Call(id="c1", name="lookup", arguments={"item": "app"}),),
        stop_reason=StopReason.TOOL_CALLS,
        usage=Usage(calls=1, completion_tokens=64),
        model=REF,
    )
    played = await play(native, [cut, Reply(text="", model=REF)])
    assert played.desk.calls == []
    assert played.events("parse_failed")[0].fault == "cut_by_length"
    assert all(not m.calls for m in played.student.requests[1].messages)
