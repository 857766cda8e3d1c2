"""A right solution said in other tools: composites read backwards, and held against forwards."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from evener.agents.harness.load import load
from evener.agents.harness.tool import ReadyTool
from evener.agents.reviewers import ActionSpace
from evener.bench.sources.gold import Gold, gold_of
from evener.bench.sources.invert import Done, inverted
from evener.bench.sources.knowing import KnowingReviewer
from evener.bench.sources.speaker import Speaker
from evener.bench.sources.teacher import Teacher
from evener.environments.storefront import Storefront
from evener.protocols.error import DataError
from evener.protocols.harness import Harness, Step, Tool
from evener.protocols.message import Call, Message
from evener.protocols.model import Request
from evener.protocols.port import ActionSpec
from evener.protocols.task import Split
from evener.protocols.wire import ReviewRequest

TEXT: Any = {"type": "string"}
ACTIONS = {
    "lookup": ActionSpec(
        name="lookup", description="", parameters={"type": "object", "properties": {"item": TEXT}}
    ),
    "calculator": ActionSpec(
        name="calculator",
        description="",
        parameters={"type": "object", "properties": {"expression": TEXT}},
    ),
}


def quote(expression: str = "{{ quantity }}*{{ result }}", **properties: Any) -> ReadyTool:
    parameters: Any = {
        "type": "object",
        "properties": properties or {"item": TEXT, "quantity": {"type": "number"}},
    }
    return ReadyTool(
        Tool(
            name="quote",
            parameters=parameters,
            steps=(
                Step(action="lookup", arguments={"item": "{{ item }}"}),
                Step(action="calculator", arguments={"expression": expression}),
            ),
        )
    )


def done(expression: str, price: str = "52") -> Sequence[Done]:
    return (
        Done(Call(name="lookup", arguments={"item": "green candle"}), price),
        Done(Call(name="calculator", arguments={"expression": expression}), "4108"),
    )


def test_a_composite_that_makes_the_same_actions_is_found_with_typed_arguments() -> None:
    call = inverted(quote(), done("79*52"), ACTIONS)
    assert call is not None
    assert (call.name, call.arguments) == ("quote", {"item": "green candle", "quantity": 79})


@pytest.mark.parametrize(
    ("tool", "expression"),
    [
        (quote(), "79*53"),  # 53 is not what the lookup gave
        (quote(), "52*79"),
        (quote(), "79+52"),
        (quote("{{ quantity }}*{{ result }}*2"), "79*52"),
        (quote("{{ result }}*{{ result }}"), "79*52"),
    ],
)
def test_one_that_would_make_other_actions_is_not(tool: ReadyTool, expression: str) -> None:
    assert inverted(tool, done(expression), ACTIONS) is None


def test_filters_of_what_is_known_are_filled_in_and_others_are_not_read() -> None:
    number = quote("{{ quantity }}*{{ result | number }}")
    call = inverted(number, done("79*52", "52 a piece"), ACTIONS)
    assert call is not None
    assert call.arguments["quantity"] == 79
    loud = quote("{{ quantity | upper }}*{{ result }}")
    assert inverted(loud, done("79*52"), ACTIONS) is None


def test_two_variables_are_told_apart_only_where_forwards_they_give_the_same() -> None:
    both = quote("{{ a }}{{ b }}*{{ result }}", item=TEXT, a=TEXT, b=TEXT)
    call = inverted(both, done("79*52"), ACTIONS)
    assert call is not None
    assert f"{call.arguments['a']}{call.arguments['b']}" == "79"


def drawn(count: int = 4) -> tuple[Storefront, Gold]:
    desk = Storefront()
    gold = gold_of(desk, desk.tasks(Split.MINE, count=count, seed=0))
    assert gold is not None
    return desk, gold


def test_tools_of_other_names_stand_for_their_actions() -> None:
    desk, gold = drawn()
    target = load(desk.harness_path("target"))
    renamed = target.model_copy(
        update={
            "tools": tuple(
                tool.model_copy(update={"name": f"my_{tool.name}"}) for tool in target.tools
            )
        }
    )
    for prompt in gold.tasks:
        said = asyncio.run(Speaker(gold, renamed).calls(prompt))
        plan = gold.plan(prompt)
        assert [call.name for call in said] == [f"my_{call.name}" for call in plan]
        assert [call.arguments for call in said] == [call.arguments for call in plan]


def test_without_a_tool_for_it_an_action_is_said_as_it_is() -> None:
    _, gold = drawn()
    bare = Harness(name="bare", tools=())
    prompt = next(iter(gold.tasks))
    assert asyncio.run(Speaker(gold, bare).calls(prompt)) == gold.plan(prompt)


def test_a_teacher_whose_first_replies_have_left_the_window_goes_on_where_it_was() -> None:
    desk, gold = drawn()
    target = load(desk.harness_path("target"))
    teacher = Teacher(gold, Speaker(gold, target), target)
    prompt = next(p for p, task in gold.tasks.items() if task.kind == "bill")
    shown = [Message(role="user", content=prompt)]
    said: list[str] = []
    for _ in range(5):
        reply = asyncio.run(teacher.complete(Request(messages=tuple(shown))))
        said.append(reply.text)
        mine = Message(role="assistant", content=reply.text, origin="student", sampled=True)
        told = Message(role="user", content="1", origin="observation")
        shown = [shown[0], mine, told]  # only the newest turn stays
    assert len(set(said)) == 4
    assert said[-1] == said[-2]
    assert "final" in said[-1]


def test_a_teacher_and_the_reviewer_know_no_task_that_was_not_drawn() -> None:
    desk, gold = drawn()
    target = load(desk.harness_path("target"))
    speaker = Speaker(gold, target)
    other = desk.tasks(Split.TEST, count=1, seed=0)[0]
    asked = Request(messages=(Message(role="user", content=other.prompt),))
    with pytest.raises(DataError):
        asyncio.run(Teacher(gold, speaker, target).complete(asked))
    reviewer = KnowingReviewer(gold, speaker, ActionSpace(target))
    request = ReviewRequest(review="", prompt=other.prompt, visible=(), candidate="", turn=0)
    with pytest.raises(DataError):
        asyncio.run(reviewer.review(request))


def test_the_reviewer_that_knows_lets_the_right_action_pass_and_replaces_any_other() -> None:
    desk, gold = drawn()
    target = load(desk.harness_path("target"))
    space = ActionSpace(target)
    reviewer = KnowingReviewer(gold, Speaker(gold, target), space)
    prompt = next(p for p, task in gold.tasks.items() if task.kind == "price")
    lookup, calculator, final = (space.write(call) for call in gold.plan(prompt))
    told = (
        Message(role="assistant", content=lookup, origin="student", sampled=True),
        Message(role="user", content="52", origin="observation"),
    )

    def said(candidate: str, visible: tuple[Message, ...] = ()) -> str | None:
        request = ReviewRequest(
            review="", prompt=prompt, visible=visible, candidate=candidate, turn=0
        )
        return asyncio.run(reviewer.review(request)).replacement

    assert said(lookup) is None
    assert said(final) == lookup
    assert said("I think it is 4.") == lookup
    assert said(lookup, told) == calculator
    assert said(calculator, told) is None
