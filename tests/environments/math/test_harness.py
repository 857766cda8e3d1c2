"""The harness that ships, and a whole episode under it."""

import json

from evener.agents.harness.check import check
from evener.agents.harness.load import load
from evener.agents.harness.loop import run_episode
from evener.agents.models.scripted import ScriptedModel
from evener.environments.math import MathEnvironment
from evener.environments.math.session import ACTIONS, TIMEOUT_S
from evener.protocols.event import Acted
from evener.protocols.task import Purpose, Split
from evener.protocols.trajectory import EpisodeKey, Outcome, prompt_digest

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


async def test_a_whole_episode_is_solved_in_its_wire_format() -> None:
    (task,) = MATHS.tasks(Split.TEST, count=1, seed=5)
    code, final = MATHS.gold(task)
    replies = [
        f"I compute it.\n<tool_call>\n{json.dumps({'name': c.name, 'arguments': c.arguments})}\n"
        "</tool_call>"
        for c in (code, final)
    ]
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
    played = await run_episode(session, task, harness, model, key=key, sampling_seed=0)
    await session.close()
    assert played.outcome is Outcome.SOLVED
    assert played.reward == 1.0
    told = model.requests[1].messages[-1].content
    answer = str(final.arguments["answer"])
    assert (
        told
        == f'<tool_result>{{"stdout": "{answer}\\n", "stderr": "", "exit_code": 0}}</tool_result>'
    )
    acted = [event for event in played.events if isinstance(event, Acted)]
    assert [event.observation for event in acted][-1] == f"answer: {answer}"
    assert any(part.startswith("sandbox:") for part in played.score.parts)
