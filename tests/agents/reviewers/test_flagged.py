"""Flagged review calls the reviewer where a hint fires or the student was unsure, and says so."""

import json
from collections.abc import Callable, Collection
from typing import Any

import pytest

from evener.agents.models.scripted import ScriptedModel
from evener.agents.reviewers.account import count_reviews
from evener.agents.reviewers.flagged import Flagged
from evener.agents.reviewers.own import OwnReviewer
from evener.agents.reviewers.space import ActionSpace
from evener.protocols.harness import Harness
from evener.protocols.knowledge import Knowledge
from evener.protocols.wire import Review, ReviewRequest

About = Callable[..., ReviewRequest]
LOOKUP = json.dumps({"name": "lookup", "arguments": {"item": "lamp"}})
OTHER = json.dumps({"name": "lookup", "arguments": {"item": "bed"}})


async def test_only_flagged_candidates_reach_the_reviewer_and_the_log_says_which(
    shop: Callable[..., Any], knowledge: Knowledge, space: ActionSpace, about: About, says: Any
) -> None:
    inner = says(Review(decision="REPLACE", replacement=OTHER))
    reviewer = Flagged(inner, knowledge, space, threshold=-1.0)
    wanted = {
        0: (about(LOOKUP), False),
        1: (about("prose"), True),
        2: (about(LOOKUP, mean_logprob=-1.5), True),
        3: (about(LOOKUP, mean_logprob=-1.0), False),
    }
    async with shop([], reviewer) as here:
        for turn, (request, flagged) in wanted.items():
            mine = request.model_copy(update={"review": reviewer.digest, "turn": turn})
            given = await here.bus.ask("harnessing", mine, Review)
            assert (given.decision == "REPLACE") is flagged
        entries = here.reviews
    assert len(inner.asked) == 2
    assert [entry["asked"] for entry in entries] == [False, True, True, False]
    assert [entry["flag"] for entry in entries] == ["", "near miss", "mean_logprob -1.500", ""]
    assert entries[0]["hint_faults"]
    counts = count_reviews(entries)
    assert (counts.candidates, counts.reviewed, counts.replaced) == (4, 2, 2)
    assert counts.carried_on == 0
    # an episode that was run again counts once
    assert count_reviews([*entries, *entries]) == counts
    assert count_reviews(entries, review="another").candidates == 0


async def test_without_a_threshold_an_unsure_student_is_not_flagged(
    knowledge: Knowledge, space: ActionSpace, about: About, says: Any
) -> None:
    inner = says(Review(decision="PASS"))
    await Flagged(inner, knowledge, space).review(about(LOOKUP, mean_logprob=-9.0))
    unhinted = knowledge.model_copy(update={"hints": ()})
    await Flagged(inner, unhinted, space).review(about("prose"))
    assert inner.asked == []


def test_what_flags_is_part_of_the_reviewers_identity(
    knowledge: Knowledge, space: ActionSpace, says: Any
) -> None:
    inner = says(Review(decision="PASS"))
    made = {
        Flagged(inner, knowledge, space).digest,
        Flagged(inner, knowledge, space, threshold=-1.0).digest,
        Flagged(inner, knowledge.model_copy(update={"hints": ()}), space).digest,
        Flagged(inner, knowledge, space, most_replaced=1).digest,
        inner.digest,
    }
    assert len(made) == 5


@pytest.mark.parametrize(
    ("most", "replaced", "asked"),
    [(1, (), 1), (1, {1}, 0), (2, {1}, 1), (2, {0, 1}, 0), (None, {0, 1}, 1)],
)
async def test_once_enough_of_an_episode_is_the_reviewers_it_is_asked_no_more(
    knowledge: Knowledge,
    space: ActionSpace,
    about: About,
    says: Any,
    most: int | None,
    replaced: Collection[int],
    asked: int,
) -> None:
    inner = says(Review(decision="REPLACE", replacement=OTHER))
    reviewer = Flagged(inner, knowledge, space, most_replaced=most)
    said = await reviewer.review(about("prose", LOOKUP, "7", LOOKUP, "7", replaced=replaced))
    assert len(inner.asked) == asked
    assert said.decision == ("REPLACE" if asked else "PASS")


async def test_a_reviewer_goes_on_with_what_it_began_before_anything_flags(
    knowledge: Knowledge, space: ActionSpace, about: About, says: Any
) -> None:
    class Going(says):  # type: ignore[misc]
        going: Review | None = Review(decision="REPLACE", replacement=OTHER)

        async def follow(self, request: ReviewRequest) -> Review | None:
            return self.going

    inner = Going(Review(decision="PASS"))
    reviewer = Flagged(inner, knowledge, space)
    assert (await reviewer.review(about("prose"))).replacement == OTHER
    assert inner.asked == []
    # an answer that did not count is no reason to give the same again
    assert (await reviewer.review(about("prose"), attempt=1)).decision == "PASS"
    inner.going = None
    await reviewer.review(about("prose"))
    assert len(inner.asked) == 2
    assert reviewer.digest != Flagged(says(Review(decision="PASS")), knowledge, space).digest


async def test_what_was_replaced_without_asking_is_counted_apart(
    shop: Callable[..., Any],
    optimized: Harness,
    knowledge: Knowledge,
    space: ActionSpace,
    about: About,
) -> None:
    """A price: the look-up takes one review, its product and the answer none."""
    prompt = "Julia orders 12 pieces of red lamp. What is the total price?"
    quote = {"name": "quote", "arguments": {"item": "red lamp", "quantity": 12}}
    base = ScriptedModel(lambda _: json.dumps(quote))
    reviewer = Flagged(OwnReviewer(base, optimized, knowledge, space), knowledge, space)
    told: list[str] = []
    async with shop([], reviewer) as here:
        for result in ("34", "408", ""):
            request = about("prose", *told, prompt=prompt, replaced={0, 1}).model_copy(
                update={"review": reviewer.digest}
            )
            given = await here.bus.ask("harnessing", request, Review)
            told += [str(given.replacement), result]
        counts = count_reviews(here.reviews)
    assert [json.loads(text)["name"] for text in told[::2]] == ["lookup", "calculator", "final"]
    assert (counts.candidates, counts.reviewed, counts.replaced, counts.carried_on) == (3, 1, 3, 2)
    assert counts.calls == len(base.requests) == 1


async def test_responses_that_are_out_of_sight_count_all_the_same(
    knowledge: Knowledge, space: ActionSpace, about: About, says: Any
) -> None:
    inner = says(Review(decision="REPLACE", replacement=OTHER))
    reviewer = Flagged(inner, knowledge, space, most_replaced=1)
    windowed = about("prose").model_copy(update={"replaced": 1})
    assert (await reviewer.review(windowed)).decision == "PASS"
    assert inner.asked == []


def test_entries_of_a_run_before_requests_were_named_keep_their_own_counts() -> None:
    entry: dict[str, Any] = {
        "review": "r",
        "turn": 0,
        "asked": True,
        "decision": "PASS",
        "faults": [],
        "attempts": 1,
        "calls": 2,
        "tokens": 30,
    }
    counts = count_reviews([entry | {"episode": "a"}, entry | {"episode": "b"}])
    assert (counts.reviewed, counts.calls, counts.tokens) == (2, 4, 60)
