"""A model that reviews: what it reads, and how its answer is read."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from evener.agents.models.scripted import ScriptedModel
from evener.agents.reviewers.model import ModelReviewer, read_review
from evener.agents.reviewers.opinion import Opinion
from evener.agents.reviewers.space import ActionSpace
from evener.protocols.harness import Harness
from evener.protocols.knowledge import Knowledge
from evener.protocols.model import Reply, StopReason
from evener.protocols.wire import Review, ReviewRequest

About = Callable[..., ReviewRequest]
LOOKUP = json.dumps({"name": "lookup", "arguments": {"item": "red lamp"}})


async def test_it_reads_k_the_episode_and_the_hints_that_fired(
    knowledge: Knowledge, space: ActionSpace, about: About
) -> None:
    model = ScriptedModel([f"REPLACE\n{LOOKUP}"])
    reviewer = ModelReviewer(model, knowledge, space)
    said = await reviewer.review(about("prose", LOOKUP, "34", prompt="How much?"))
    assert (said.decision, said.replacement) == ("REPLACE", LOOKUP)
    assert isinstance(said, Opinion)
    assert said.hints == ("near miss",)
    system, asked = model.requests[0].messages
    words = len(f"{system.content} {asked.content} REPLACE {LOOKUP}".split())
    assert said.requests == {model.requests[0].key(): words}
    assert "Ask for the price of one piece before" in system.content
    assert "- quote(item, quantity)" in system.content
    for part in ("How much?", f"response: {LOOKUP}\nresult: 34", "prose", "- It cannot be read."):
        assert part in asked.content


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("PASS", ("PASS", None)),
        ("pass", None),
        ("PASS: it looks the price up", ("PASS", None)),
        ("**REPLACE**\n" + LOOKUP, ("REPLACE", LOOKUP)),
        (f"<think>it should not PASS</think>REPLACE:\n```json\n{LOOKUP}\n```", ("REPLACE", LOOKUP)),
        ("REPLACE", ("REPLACE", "")),
        (json.dumps({"decision": "PASS", "reason": "fine"}), ("PASS", None)),
        (json.dumps({"decision": "REPLACE", "replacement": LOOKUP}), ("REPLACE", LOOKUP)),
        (json.dumps({"decision": "REPLACE", "replacement": {"name": "lookup"}}), None),
        (LOOKUP, None),
        ("The candidate is fine, so PASS.", None),
        ("", None),
    ],
)
def test_an_answer_is_a_verdict_or_nothing(text: str, said: tuple[str, str | None] | None) -> None:
    found = read_review(Reply(text=text, model=ScriptedModel("").ref))
    if said is None:
        assert found.fault
    else:
        assert not found.fault
        assert (found.decision, found.replacement) == said


def test_an_answer_that_was_cut_is_no_review() -> None:
    ref = ScriptedModel("").ref
    cut = Reply(text=f"REPLACE\n{LOOKUP}", stop_reason=StopReason.LENGTH, model=ref)
    assert read_review(cut).fault == "cut_by_length"


async def test_prose_three_times_is_a_pass_that_cost_three_calls(
    shop: Callable[..., Any], knowledge: Knowledge, space: ActionSpace, about: About
) -> None:
    model = ScriptedModel(lambda _: "Replace this with a look-up, I would say.")
    reviewer = ModelReviewer(model, knowledge, space)
    async with shop([], reviewer) as here:
        request = about("?").model_copy(update={"review": reviewer.digest})
        assert (await here.bus.ask("harnessing", request, Review)).decision == "PASS"
        (entry,) = here.reviews
    assert (entry["attempts"], len(entry["requests"]), entry["decision"]) == (3, 3, "PASS")
    assert len({request.sampling.seed for request in model.requests}) == 3


def test_an_empty_k_is_another_reviewer(
    space: ActionSpace, target: Harness, knowledge: Knowledge
) -> None:
    empty = Knowledge(name="empty", source="s", target=target.digest())
    model = ScriptedModel([])
    assert (
        ModelReviewer(model, empty, space).digest != ModelReviewer(model, knowledge, space).digest
    )
