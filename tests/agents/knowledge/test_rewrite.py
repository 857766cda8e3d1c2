"""K in a model's words: the texts that pass, and those that do not."""

from collections import Counter

import pytest

from evener.agents.knowledge.check import check_knowledge
from evener.agents.knowledge.rewrite import rewrite
from evener.agents.leak import LeakGuard
from evener.agents.models.scripted import ScriptedModel
from evener.agents.pattern import Background
from evener.environments.storefront import Storefront
from evener.protocols.error import InfraError
from evener.protocols.harness import Harness
from evener.protocols.knowledge import Knowledge
from evener.protocols.model import Reply, Request, StopReason
from evener.protocols.task import Split

TASKS = [(split, 12, 5) for split in Split]


def asked(request: Request) -> str:
    return request.messages[-1].content


async def test_texts_change_and_nothing_else_does(
    knowledge: Knowledge, optimized: Harness, target: Harness, background: Background
) -> None:
    model = ScriptedModel(lambda request: f"  Mind this: {asked(request)}\n")
    found = await rewrite(knowledge, model, optimized=optimized, target=target)
    assert found.rewritten == len(model.requests)
    assert found.dropped == {}
    made = found.knowledge
    assert made.hints[0].text == f"Mind this: {knowledge.hints[0].text}"
    assert made.guidance[0].text.startswith("Mind this:")
    assert made.patterns[0].intervention.startswith("Mind this:")
    check_knowledge(made, optimized, target, background, None)

    def bare(k: Knowledge) -> object:
        return (
            [r.model_copy(update={"text": ""}) for r in k.recipes],
            [h.model_copy(update={"text": ""}) for h in k.hints],
            [g.model_copy(update={"text": ""}) for g in k.guidance],
            k.omissions,
        )

    assert bare(made) == bare(knowledge)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("  \n", "empty"),
        ("Use quote here.", "names a tool that the target lacks"),
        ("blah " * 300, "too long"),
        ('{"name": "final", "arguments": {"answer": 1}}', "a call in words"),
        (Reply(text="Begin", stop_reason=StopReason.LENGTH, model=ScriptedModel([]).ref), "cut"),
    ],
)
async def test_a_bad_text_is_dropped_and_counted(
    answer: str | Reply, reason: str, knowledge: Knowledge, optimized: Harness, target: Harness
) -> None:
    model = ScriptedModel(lambda request: answer)
    found = await rewrite(knowledge, model, optimized=optimized, target=target)
    assert found.knowledge == knowledge
    assert found.rewritten == 0
    assert found.dropped == {reason: len(model.requests)}


async def test_a_hint_keeps_its_variables(
    knowledge: Knowledge, optimized: Harness, target: Harness
) -> None:
    def reply(request: Request) -> str:
        text = asked(request)
        return text.replace("{{ detail }}", "{{ answer }}").replace("{{ count }}", "many")

    found = await rewrite(knowledge, ScriptedModel(reply), optimized=optimized, target=target)
    rules = Counter(hint.rule for hint in knowledge.hints)
    assert found.dropped == {
        "not a template of the hint": rules["unreadable"] + rules["bad_arguments"],
        "other variables": rules["repeat"],
    }
    assert found.knowledge == knowledge


async def test_task_text_is_dropped(
    knowledge: Knowledge, optimized: Harness, target: Harness, background: Background
) -> None:
    desk = Storefront()
    task = desk.tasks(Split.TEST, count=12, seed=5)[2].prompt
    guard = LeakGuard(desk, background, TASKS)
    model = ScriptedModel(lambda request: task)
    found = await rewrite(knowledge, model, optimized=optimized, target=target, guard=guard)
    assert found.knowledge == knowledge
    assert found.dropped == {"repeats a task": len(model.requests)}


async def test_a_model_that_fails_is_not_taken_for_a_bad_text(
    knowledge: Knowledge, optimized: Harness, target: Harness
) -> None:
    with pytest.raises(InfraError):
        await rewrite(knowledge, ScriptedModel([]), optimized=optimized, target=target)
