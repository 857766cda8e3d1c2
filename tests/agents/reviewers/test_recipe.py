"""The recipe reviewer rewrites by K what a student wrote, and solves nothing."""

import json
from collections.abc import Callable

import pytest

from evener.agents.knowledge.adapt import adapt
from evener.agents.pattern.background import published
from evener.agents.reviewers.extract import extracted
from evener.agents.reviewers.opinion import Opinion
from evener.agents.reviewers.recipe import RecipeReviewer
from evener.agents.reviewers.space import ActionSpace
from evener.environments.storefront import Storefront
from evener.protocols.harness import Harness
from evener.protocols.knowledge import Knowledge
from evener.protocols.task import Split
from evener.protocols.wire import ReviewRequest

About = Callable[..., ReviewRequest]
PRICE = "Julia orders 12 pieces of red lamp. What is the total price?"


def call(name: str, **arguments: object) -> str:
    return json.dumps({"name": name, "arguments": arguments})


LOOKUP = call("lookup", item="red lamp")
TIMES = call("calculator", expression="12*34")


@pytest.fixture
def reviewer(knowledge: Knowledge, space: ActionSpace) -> RecipeReviewer:
    return RecipeReviewer(knowledge, space)


@pytest.mark.parametrize(
    ("told", "candidate", "replacement"),
    [
        # 1: a tool that only h* has, step by step, with the student's arguments mended
        ([], call("quote", item=" Red Lamp", quantity=12), LOOKUP),
        ([], f"Sure! {call('quote', item='red lamp', quantity=12)}", LOOKUP),
        ([LOOKUP, "34"], call("quote", item="red lamp", quantity=12), TIMES),
        ([LOOKUP, "34", TIMES, "408"], call("quote", item="red lamp", quantity=12), None),
        # a look-up of something else does not count, one that failed is not tried again
        ([call("lookup", item="bed"), "7"], call("quote", item="red lamp", quantity=12), LOOKUP),
        ([LOOKUP, "unknown item"], call("quote", item="red lamp", quantity=12), None),
        ([], call("quote", item="red lamp"), None),
        # 2: spellings
        (
            [],
            call("convert", value=3, **{"from": "feet", "to": " Metre"}),
            call("convert", value=3, **{"from": "foot", "to": "meter"}),
        ),
        ([], call("lookup", item=" Red Lamp "), LOOKUP),
        ([], call("lookup", item="red lamp"), None),
        ([], '{"arguments": {"item": "red lamp"}, "name": "lookup"}', None),
        # 3: the protocol
        ([], f"```json\n{LOOKUP}\n```", LOOKUP),
        # 4: a later step; its arguments are settled by their types, or the candidate passes
        ([LOOKUP, "34"], call("final", answer=34), TIMES),
        ([], call("calculator", expression="12*3"), None),
        ([], call("final", answer=34), None),
        # 5: the answer is the last result
        ([LOOKUP, "34", TIMES, "408"], call("final", answer=480), call("final", answer=408)),
        ([LOOKUP, "34", TIMES, "408"], call("final", answer=408), None),
        # it solves nothing
        ([], "I would look the price up.", None),
        ([], "", None),
        ([], call("juggle", balls=3), None),
    ],
)
async def test_what_becomes_of_a_candidate(
    reviewer: RecipeReviewer, about: About, told: list[str], candidate: str, replacement: str | None
) -> None:
    said = await reviewer.review(about(candidate, *told, prompt=PRICE))
    assert said.replacement == replacement
    assert said.decision == ("PASS" if replacement is None else "REPLACE")


async def test_an_empty_k_lets_everything_pass(
    space: ActionSpace, target: Harness, about: About
) -> None:
    empty = Knowledge(name="empty", source="s", target=target.digest())
    reviewer = RecipeReviewer(empty, space)
    for candidate in (call("quote", item="x", quantity=1), f"```{LOOKUP}```", "prose"):
        said = await reviewer.review(about(candidate, prompt=PRICE))
        assert said.decision == "PASS"
    ended = about(call("final", answer=1), LOOKUP, "34", prompt=PRICE)
    assert (await reviewer.review(ended)).decision == "PASS"
    assert reviewer.digest != RecipeReviewer(empty.model_copy(update={"name": "k"}), space).digest


async def test_hints_that_fired_and_hints_that_failed_are_on_the_private_side(
    reviewer: RecipeReviewer, about: About
) -> None:
    said = await reviewer.review(
        about(call("final", answer=480), LOOKUP, "34", TIMES, "408", prompt=PRICE)
    )
    assert isinstance(said, Opinion)
    assert said.hints == ("verify",)
    assert [fault.split(":")[0] for fault in said.hint_faults] == ["broken"]


def test_only_what_one_type_settles_is_taken_from_a_text(knowledge: Knowledge) -> None:
    quote, convert = knowledge.recipes[0], knowledge.recipes[1]
    assert extracted(quote, PRICE) == {"quantity": 12}
    assert extracted(quote, "two numbers, 3 and 4") == {}
    # two units of one list: which is which, no type says
    assert extracted(convert, "Convert 3.5 feet into meters.") == {"value": 3.5}


async def test_a_right_plan_is_left_alone_by_the_k_that_is_made_of_the_desks_harnesses(
    optimized: Harness, target: Harness, about: About
) -> None:
    desk = Storefront()
    background = await published(desk)
    space = ActionSpace(target, background.actions)
    reviewer = RecipeReviewer(adapt(optimized, target, background), space)
    for task in desk.tasks(Split.MINE, count=16, seed=4):
        session = await desk.open(task, seed=4)
        told: list[str] = []
        for made in desk.gold(task):
            text = call(made.name, **made.arguments)
            said = await reviewer.review(about(text, *told, prompt=task.prompt))
            assert said.decision == "PASS", (task.prompt, text, said)
            told += [text, (await session.act(made)).text]
