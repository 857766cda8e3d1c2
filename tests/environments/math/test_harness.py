"""The harness that ships, and a whole episode under it."""

import json

import pytest

from evener.agents.ballot import answer as given
from evener.agents.harness.check import check
from evener.agents.harness.load import load
from evener.agents.harness.loop import run_episode
from evener.agents.models.scripted import ScriptedModel
from evener.environments.math import MathEnvironment
from evener.environments.math.session import ACTIONS, TIMEOUT_S
from evener.protocols.event import Acted, Ended
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Outcome, Trajectory, prompt_digest

MATHS = MathEnvironment()


def test_the_harness_is_the_plain_one_of_tool_integrated_reasoning() -> None:
    harness = load(MATHS.harness_path("tir"))
    check(harness, ACTIONS)
    assert 400 <= len(harness.prompt.system) / 4 <= 560
    assert not harness.prompt.examples
    assert not harness.skills
    assert [tool.name for tool in harness.tools] == ["python", "final"]
    assert harness.tools[0].timeout_s > TIMEOUT_S == 30
    actions = {spec.name: spec for spec in ACTIONS}
    assert all(tool.parameters == actions[tool.name].parameters for tool in harness.tools)
    middleware = harness.middleware
    assert middleware.protocol.format == "hermes"
    assert (middleware.loop.max_turns, middleware.loop.stop) == (15, ("<DONE>",))
    assert (middleware.context.keep_tokens, middleware.context.tool_output_tokens) == (4096, 2048)
    assert [hook.name for hook in middleware.hooks.after_tool] == ["retry"]
    assert harness.memory.policy == "none"


def test_the_seed_shows_the_documentation_s_examples() -> None:
    harness = load(MATHS.harness_path("seed"))
    check(harness, ACTIONS)
    documented = [example.turns for example in MATHS.examples() if example.kind == "arithmetic"]
    assert [*harness.prompt.examples] == documented[:3]
    actions = {spec.name: spec for spec in ACTIONS}
    assert all(tool.parameters == actions[tool.name].parameters for tool in harness.tools)


async def played(task: Task, replies: list[str]) -> tuple[Trajectory, ScriptedModel]:
    harness, model = load(MATHS.harness_path("tir")), ScriptedModel(replies)
    key = EpisodeKey(
        task=task.id,
        prompt_digest=prompt_digest(task),
        harness=harness.digest(),
        model=model.ref.revision,
        purpose=Purpose.EVALUATE,
        seed=0,
    )
    session = await MATHS.open(task, seed=0)
    try:
        return await run_episode(session, task, harness, model, key=key, sampling_seed=0), model
    finally:
        await session.close()


def ended(run: Trajectory) -> str:
    (end,) = [event.reason for event in run.events if isinstance(event, Ended)]
    return end


async def test_a_whole_episode_is_solved_in_its_wire_format() -> None:
    (task,) = MATHS.tasks(Split.TEST, count=1, seed=5)
    code, final = MATHS.gold(task)
    replies = [
        f"I compute it.\n<tool_call>\n{json.dumps({'name': c.name, 'arguments': c.arguments})}\n"
        "</tool_call>"
        for c in (code, final)
    ]
    run, model = await played(task, replies)
    assert (run.outcome, run.reward, ended(run)) == (Outcome.SOLVED, 1.0, "final")
    told = model.requests[1].messages[-1].content
    answer = str(final.arguments["answer"])
    result = json.dumps({"stdout": f"{answer}\n", "stderr": "", "exit_code": 0})
    assert told == f"<tool_result>{result}</tool_result>"
    acted = [event for event in run.events if isinstance(event, Acted)]
    assert [event.observation for event in acted][-1] == f"answer: {answer}"
    assert any(part.startswith("sandbox:") for part in run.score.parts)


async def test_a_box_in_a_last_reply_without_a_call_is_the_answer() -> None:
    (task,) = MATHS.tasks(Split.TEST, count=1, seed=5)
    answer = str(MATHS.gold(task)[-1].arguments["answer"])
    for reply in (
        f"<think>\\boxed{{1}}?</think>It is $\\boxed{{{answer}}}$.",
        f"It is $\\boxed{{{answer}}}$. <DONE>",
    ):
        run, _ = await played(task, [reply])
        assert (run.outcome, run.reward) == (Outcome.SOLVED, 1.0), reply
        (acted,) = [event for event in run.events if isinstance(event, Acted)]
        assert (acted.tool, acted.call.arguments, acted.done) == ("final", {"answer": answer}, True)
        assert acted.message is None
        assert given(run) == f"{float(answer):.10g}"


@pytest.mark.parametrize(
    ("reply", "error_kind"),
    [
        ("I give up. <DONE>", "no_answer"),
        ("<think>It may be \\boxed{6133}.</think> I am not sure.", "no_answer"),
        ("It is \\boxed{1}. Rather \\boxed{\\frac{7}{", "truncated_answer"),
    ],
)
async def test_a_last_reply_without_an_answer_scores_0(reply: str, error_kind: str) -> None:
    (task,) = MATHS.tasks(Split.TEST, count=1, seed=5)
    run, _ = await played(task, [reply])
    assert (run.outcome, run.reward) == (Outcome.FAILED, 0.0)
    assert run.score.error_kind == error_kind
