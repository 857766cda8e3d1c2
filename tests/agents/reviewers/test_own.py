"""The student's own base under h* proposes, K's recipes say it in the target's actions."""

import json
from collections.abc import Callable, Collection
from typing import Any

import pytest

from evener.agents.models.scripted import ScriptedModel
from evener.agents.reviewers.account import count_reviews
from evener.agents.reviewers.opinion import Opinion
from evener.agents.reviewers.own import OwnReviewer
from evener.agents.reviewers.space import ActionSpace
from evener.environments.storefront import Storefront
from evener.protocols.error import ConfigError
from evener.protocols.harness import ExampleCall, ExampleTurn, Harness
from evener.protocols.knowledge import Knowledge
from evener.protocols.model import Request
from evener.protocols.task import Task
from evener.protocols.wire import ReviewRequest

About = Callable[..., ReviewRequest]
PRICE = "Julia orders 12 pieces of red lamp. What is the total price?"


def call(name: str, **arguments: object) -> str:
    return json.dumps({"name": name, "arguments": arguments})


LOOKUP = call("lookup", item="red lamp")
TIMES = call("calculator", expression="12*34")
QUOTE = call("quote", item="red lamp", quantity=12)


def shopper(request: Request) -> str:
    """Quotes, and hands in what the quote gave."""
    last = request.messages[-1].content
    return QUOTE if last == PRICE else call("final", answer=float(last))


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(shopper)


@pytest.fixture
def reviewer(
    model: ScriptedModel, optimized: Harness, knowledge: Knowledge, space: ActionSpace
) -> OwnReviewer:
    return OwnReviewer(model, optimized, knowledge, space)


@pytest.mark.parametrize(
    ("told", "candidate", "replacement"),
    [
        ([], call("final", answer=3), LOOKUP),
        ([], LOOKUP, None),
        ([LOOKUP, "34"], LOOKUP, TIMES),
        ([LOOKUP, "34"], TIMES, None),
        ([LOOKUP, "34", TIMES, "408"], call("final", answer=480), call("final", answer=408.0)),
        ([LOOKUP, "34", TIMES, "408"], call("final", answer=408.0), None),
        # the same call, but not as the target reads it
        ([], f"Sure: {LOOKUP}", LOOKUP),
    ],
)
async def test_a_quote_is_a_look_up_then_a_multiplication_then_the_answer(
    reviewer: OwnReviewer, about: About, told: list[str], candidate: str, replacement: str | None
) -> None:
    said = await reviewer.review(about(candidate, *told, prompt=PRICE))
    assert said.replacement == replacement


async def test_the_model_reads_h_star_and_is_told_what_the_steps_gave(
    reviewer: OwnReviewer, model: ScriptedModel, about: About
) -> None:
    said = await reviewer.review(about("?", LOOKUP, "34", TIMES, "408", prompt=PRICE))
    first, second = model.requests
    assert "quote(item, quantity)" in first.messages[0].content
    assert first.messages[-1].content == PRICE
    assert [m.content for m in second.messages[-2:]] == [QUOTE, "408"]
    assert isinstance(said, Opinion)
    read = [sum(len(m.content.split()) for m in request.messages) for request in model.requests]
    first_tokens, second_tokens = said.requests.values()
    assert first_tokens == read[0] + len(QUOTE.split())
    assert second_tokens > read[1]
    # what was asked before is not paid for again
    again = await reviewer.review(about("!", LOOKUP, "34", TIMES, "408", prompt=PRICE))
    assert isinstance(again, Opinion)
    assert again.requests == said.requests
    assert len(model.requests) == 2


ANSWER = call("final", answer=408)


@pytest.mark.parametrize(
    ("told", "replaced", "candidate", "decision", "replacement"),
    [
        # the rest of the quote, then the answer, whatever the student would do
        ([LOOKUP, "34"], {0}, LOOKUP, "REPLACE", TIMES),
        ([LOOKUP, "34"], {0}, TIMES, "PASS", None),
        ([LOOKUP, "34", TIMES, "408"], {0}, LOOKUP, "REPLACE", ANSWER),
        ([LOOKUP, "34", TIMES, "408"], {1}, ANSWER, "PASS", None),
        # no review began anything
        ([LOOKUP, "34"], (), LOOKUP, None, None),
        ([], (), LOOKUP, None, None),
        # the student went another way since, or a step failed
        ([LOOKUP, "34", call("calculator", expression="1+1"), "2"], {0}, "?", None, None),
        ([call("lookup", item="bed"), "7"], {0}, "?", None, None),
        ([LOOKUP, "unknown item"], {0}, "?", None, None),
    ],
)
async def test_what_a_review_began_is_seen_through_without_asking_again(
    reviewer: OwnReviewer,
    model: ScriptedModel,
    about: About,
    told: list[str],
    replaced: Collection[int],
    candidate: str,
    decision: str | None,
    replacement: str | None,
) -> None:
    await reviewer.review(about("?", prompt=PRICE))
    said = await reviewer.follow(about(candidate, *told, prompt=PRICE, replaced=replaced))
    assert len(model.requests) == 1
    if decision is None:
        assert said is None
        return
    assert isinstance(said, Opinion)
    assert (said.decision, said.replacement) == (decision, replacement)
    assert not said.asked


async def test_no_answer_is_made_of_the_last_result_unless_k_says_so(
    model: ScriptedModel, optimized: Harness, knowledge: Knowledge, space: ActionSpace, about: About
) -> None:
    done = about("?", LOOKUP, "34", TIMES, "408", prompt=PRICE, replaced={0})
    for without in ("hints", "guidance"):
        silent = knowledge.model_copy(update={without: ()})
        reviewer = OwnReviewer(model, optimized, silent, space)
        await reviewer.review(about("?", prompt=PRICE))
        assert await reviewer.follow(done) is None


async def test_no_answer_is_made_while_more_than_that_is_left_of_the_procedure(
    model: ScriptedModel, optimized: Harness, knowledge: Knowledge, space: ActionSpace, about: About
) -> None:
    more = ExampleTurn(role="assistant", call=ExampleCall(name="lookup", arguments={"item": "bed"}))
    longer = tuple(
        one.model_copy(update={"examples": tuple((*e[:-1], more, e[-1]) for e in one.examples)})
        for one in knowledge.guidance
    )
    done = about("?", LOOKUP, "34", TIMES, "408", prompt=PRICE, replaced={0})
    for guidance, answers in ((knowledge.guidance, True), (longer, False)):
        k = knowledge.model_copy(update={"guidance": guidance})
        reviewer = OwnReviewer(model, optimized, k, space)
        await reviewer.review(about("?", prompt=PRICE))
        said = await reviewer.follow(done)
        assert (said is not None and said.replacement == ANSWER) is answers


async def test_a_proposal_that_is_not_kept_is_asked_for_again_and_is_no_review_more(
    reviewer: OwnReviewer, model: ScriptedModel, about: About
) -> None:
    said = await reviewer.follow(about("?", LOOKUP, "34", prompt=PRICE, replaced={0}))
    assert isinstance(said, Opinion)
    assert (said.asked, len(said.requests), said.replacement) == (False, 1, TIMES)
    assert len(model.requests) == 1


async def test_a_failed_step_is_told_as_what_the_tool_gave(
    optimized: Harness, knowledge: Knowledge, space: ActionSpace, about: About
) -> None:
    def stubborn(request: Request) -> str:
        last = request.messages[-1].content
        near = call("quote", item="red lamps", quantity=12)
        return near if last == PRICE else QUOTE

    reviewer = OwnReviewer(ScriptedModel(stubborn), optimized, knowledge, space)
    wrong = call("lookup", item="red lamps")
    said = await reviewer.review(about("?", wrong, "unknown item 'red lamps'", prompt=PRICE))
    assert said.replacement == LOOKUP


@pytest.mark.parametrize("said", ["I would quote it.", call("juggle"), call("quote", item="x")])
async def test_a_proposal_that_is_no_call_of_h_star_lets_the_candidate_pass(
    optimized: Harness, knowledge: Knowledge, space: ActionSpace, about: About, said: str
) -> None:
    reviewer = OwnReviewer(ScriptedModel(lambda _: said), optimized, knowledge, space)
    given = await reviewer.review(about("?", prompt=PRICE))
    assert given.decision == "PASS"
    assert given.reason == "the proposal is no call of its tools"


async def test_another_attempt_is_another_draw(
    reviewer: OwnReviewer, model: ScriptedModel, about: About
) -> None:
    await reviewer.review(about("?", prompt=PRICE), attempt=0)
    await reviewer.review(about("?", prompt=PRICE), attempt=1)
    first, second = (request.sampling for request in model.requests)
    assert (first.temperature, first.seed) == (0.0, 0)
    assert second.temperature > 0
    assert second.seed > 0


def test_k_must_be_of_the_harness_that_is_read(
    model: ScriptedModel, target: Harness, knowledge: Knowledge, space: ActionSpace
) -> None:
    with pytest.raises(ConfigError, match="made of another harness"):
        OwnReviewer(model, target, knowledge, space)


async def test_a_student_that_only_h_star_helps_solves_under_h_while_it_is_reviewed(
    shop: Callable[..., Any],
    optimized: Harness,
    target: Harness,
    knowledge: Knowledge,
    space: ActionSpace,
    tasks: dict[str, Task],
) -> None:
    def helped(request: Request) -> str:
        """Knows what to do under h* and hands in nonsense elsewhere."""
        at = max(i for i, m in enumerate(request.messages) if m.content in plans)
        told = [m.content for m in request.messages[at + 1 :] if m.role == "user"]
        if "last result" not in request.messages[0].content:  # a note of h*
            return call("final", answer=-1)
        plan = plans[request.messages[at].content]
        return plan[len(told)] if len(told) < len(plan) else call("final", answer=float(told[-1]))

    plans: dict[str, list[str]] = {}
    for kind, task in tasks.items():
        steps = [made for made in Storefront().gold(task) if made.name != "final"]
        lines = [call(made.name, **made.arguments) for made in steps]
        if kind == "price":
            quantity = int(str(steps[1].arguments["expression"]).split("*")[0])
            lines = [call("quote", item=steps[0].arguments["item"], quantity=quantity)]
        elif kind == "convert":
            # a spelling that h* forgives and h does not
            spelt = str(steps[0].arguments["to"]).title()
            lines = [call("convert_any", **{**steps[0].arguments, "to": f" {spelt}"})]
        plans[task.prompt] = lines
    base = ScriptedModel(helped, name="base")
    reviewer = OwnReviewer(base, optimized, knowledge, space)
    for kind, task in tasks.items():
        async with shop(helped, reviewer) as here:
            alone = await here.play(target, task)
            reviewed = await here.play(target, task, review=reviewer.digest)
            counts = count_reviews(here.reviews)
        assert not alone.solved
        assert reviewed.solved, kind
        assert counts.given_up == 0
        assert {m.origin for m in reviewed.messages if m.sampled} == {"reviewer"}
        assert "quote" not in reviewed.model_dump_json()
