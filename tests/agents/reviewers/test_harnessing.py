"""What a reviewer says is checked; what it cannot say properly is a PASS, and in the log."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from evener.agents.harness.load import parse_yaml
from evener.agents.harnessing import HarnessingAgent
from evener.agents.record.memory import MemoryLog
from evener.agents.reviewers.account import count_reviews
from evener.agents.reviewers.opinion import Opinion
from evener.agents.reviewers.recipe import RecipeReviewer
from evener.agents.reviewers.space import ActionSpace
from evener.environments.storefront.action import ACTIONS
from evener.protocols.error import BudgetError, ConfigError, HarnessError, InfraError
from evener.protocols.harness import Harness
from evener.protocols.knowledge import Knowledge
from evener.protocols.wire import Review, ReviewRequest

Shop = Callable[..., Any]
About = Callable[..., ReviewRequest]
PASS = Review(decision="PASS")
CALL = '{"name": "calculator", "arguments": {"expression": "2+3"}}'
OTHER = '{"name": "lookup", "arguments": {"item": "lamp"}}'


def replace_by(text: str | None) -> Review:
    return Review(decision="REPLACE", replacement=text)


async def ask(here: Any, reviewer: Any, request: ReviewRequest) -> Review:
    found = await here.bus.ask(
        "harnessing", request.model_copy(update={"review": reviewer.digest, "episode": "e1"})
    )
    assert isinstance(found, Review)
    return found


@pytest.mark.parametrize(
    ("review", "fault"),
    [
        (replace_by(None), "empty_replacement"),
        (replace_by(""), "empty_replacement"),
        (replace_by(" \n"), "empty_replacement"),
        (Review(decision="PASS", replacement=CALL), "pass_with_replacement"),
        (replace_by("You should look the price up first."), "no_call"),
        (replace_by(f"Replace this with {CALL}"), "call_like_text"),
        (replace_by(f"{CALL}\n{OTHER}"), "several_calls"),
        (replace_by(CALL[:-1]), "invalid_json"),
        (replace_by('{"name": "quote", "arguments": {"item": "lamp"}}'), "unknown_tool"),
        (replace_by('{"name": "lookup", "arguments": {}}'), "missing_argument"),
        (replace_by('{"name": "final", "arguments": {"answer": "many"}}'), "wrong_type"),
        (replace_by(json.dumps({"name": "lookup", "arguments": {"item": "x" * 400}})), "too_long"),
        (Opinion(decision="PASS", fault="prose"), "prose"),
        (InfraError("the server is gone"), "infra"),
        (ValueError("oops"), "failed: ValueError: oops"),
    ],
)
async def test_an_invalid_review_is_asked_for_again_and_then_the_candidate_passes(
    shop: Shop, about: About, says: Any, review: Review | Exception, fault: str
) -> None:
    reviewer = says(review)
    async with shop([], reviewer) as here:
        given = await ask(here, reviewer, about(CALL))
        (entry,) = here.reviews
    assert given == PASS
    assert [attempt for _, attempt in reviewer.asked] == [0, 1, 2]
    assert entry["decision"] == "PASS"
    assert entry["attempts"] == 3
    assert len(entry["faults"]) == 3
    assert all(said.startswith(fault) for said in entry["faults"])
    assert "replacement" not in entry


async def test_given_up_are_those_alone_that_no_attempt_mended(
    shop: Shop, about: About, says: Any
) -> None:
    for reviews, given_up in ((["prose", "prose", "prose"], 1), (["prose", "PASS"], 0)):
        said = [Opinion(decision="PASS", fault=r if r == "prose" else "") for r in reviews]
        reviewer = says(*said)
        async with shop([], reviewer) as here:
            await ask(here, reviewer, about(CALL))
            counts = count_reviews(here.reviews)
        assert (counts.given_up, counts.invalid_attempts) == (given_up, reviews.count("prose"))


async def test_a_replacement_that_would_only_fit_after_mending_is_no_replacement(
    shop: Shop, about: About, says: Any
) -> None:
    reviewer = says(replace_by(json.dumps({"name": "final", "arguments": {"answer": "1"}})))
    async with shop([], reviewer) as here:
        assert await ask(here, reviewer, about(CALL)) == PASS
        (entry,) = here.reviews
    assert "answer would only fit after being mended" in entry["faults"][0]


async def test_a_review_that_becomes_valid_counts_and_its_faults_are_kept(
    shop: Shop, about: About, says: Any
) -> None:
    good = Opinion(
        decision="REPLACE",
        replacement=f" {OTHER}\n",
        reason="look it up",
        hints=("lookup_first",),
        hint_faults=("broken: KeyError",),
        requests={"b": 40},
    )
    lost = Opinion(decision="PASS", fault="prose", requests={"a": 2})
    reviewer = says(InfraError("gone"), lost, good)
    async with shop([], reviewer) as here:
        given = await ask(here, reviewer, about(CALL))
        (entry,) = here.reviews
    # neither reason nor hints travel back, and the text is what will be trained on
    assert given.document() == {"decision": "REPLACE", "replacement": OTHER, "reason": ""}
    assert entry["faults"] == ["infra: gone", "prose"]
    assert (entry["attempts"], entry["requests"]) == (3, {"a": 2, "b": 40})
    assert (entry["hints"], entry["hint_faults"]) == (["lookup_first"], ["broken: KeyError"])
    assert (entry["candidate"], entry["replacement"]) == (CALL, OTHER)
    assert (entry["episode"], entry["turn"], entry["reviewer"]) == ("e1", 0, "says")


async def test_a_reviewer_that_takes_too_long_is_an_attempt_that_failed(
    shop: Shop, about: About, says: Any
) -> None:
    async def never() -> Review:
        await asyncio.sleep(60)
        return PASS

    reviewer = says(never, replace_by(OTHER))
    async with shop([], reviewer, timeout_s=0.05) as here:
        assert (await ask(here, reviewer, about(CALL))).replacement == OTHER
        assert here.reviews[0]["faults"] == ["timeout: longer than 0.05 seconds"]


@pytest.mark.parametrize("candidate", [CALL, f"{CALL}\n", f" {CALL}"])
async def test_a_replacement_that_changes_nothing_is_a_pass(
    candidate: str, shop: Shop, about: About, says: Any
) -> None:
    reviewer = says(replace_by(CALL))
    async with shop([], reviewer) as here:
        assert await ask(here, reviewer, about(candidate)) == PASS
        assert here.reviews[0]["decision"] == "PASS"


async def test_a_reviewer_that_cancels_itself_ends_no_episode(
    shop: Shop, about: About, says: Any
) -> None:
    reviewer = says(asyncio.CancelledError())
    async with shop([], reviewer) as here:
        assert await ask(here, reviewer, about(CALL)) == PASS
        (entry,) = here.reviews
    assert entry["faults"] == ["failed: CancelledError"] * 3


async def test_an_episode_that_is_ended_ends_its_review(
    target: Harness, about: About, says: Any
) -> None:
    asked, log = asyncio.Event(), MemoryLog()

    async def late() -> None:
        asked.set()
        await asyncio.Event().wait()

    reviewer = says(late)
    agent = HarnessingAgent([reviewer], ActionSpace(target, ACTIONS), log)
    going = asyncio.create_task(
        agent.review(about(CALL).model_copy(update={"review": reviewer.digest}))
    )
    await asked.wait()
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    assert len(reviewer.asked) == 1
    assert log.of("review") == []


async def test_a_budget_that_is_used_up_is_not_taken_for_a_bad_review(
    shop: Shop, about: About, says: Any
) -> None:
    reviewer = says(BudgetError("calls", used=2, limit=1))
    async with shop([], reviewer) as here:
        with pytest.raises(BudgetError):
            await ask(here, reviewer, about(CALL))


def test_a_hermes_target_takes_a_block_and_a_native_one_no_review(target: Harness) -> None:
    def under(form: str) -> Harness:
        protocol = target.middleware.protocol.model_copy(update={"format": form})
        middleware = target.middleware.model_copy(update={"protocol": protocol})
        return target.model_copy(update={"middleware": middleware})

    hermes = ActionSpace(under("hermes"))
    assert hermes.fault(f"<tool_call>\n{CALL}\n</tool_call>") == ""
    assert hermes.fault(CALL) != ""
    with pytest.raises(HarnessError, match="no text"):
        ActionSpace(under("native"))


def test_a_replacement_is_held_to_the_protocol_even_where_the_target_forgives() -> None:
    lenient = parse_yaml(
        "name: l\ntools: [{name: calculator, action: calculator}]\n"
        "middleware: {protocol: {strict: false}}",
        where="l.yaml",
    )
    assert ActionSpace(lenient).fault(f"Sure: {CALL}").startswith("call_like_text")
    assert ActionSpace(lenient).fault(CALL) == ""


def test_a_k_for_another_target_is_refused_before_any_episode(
    knowledge: Knowledge, space: ActionSpace
) -> None:
    other = knowledge.model_copy(update={"target": "0" * 64})
    with pytest.raises(ConfigError, match="'K', which is for another target"):
        HarnessingAgent([RecipeReviewer(other, space)], space, MemoryLog())
