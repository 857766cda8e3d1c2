"""Episodes under review: what a reviewer is shown, and what becomes of its word."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from evener.agents.fault import UnknownRecipient
from evener.agents.harness.load import parse_yaml
from evener.agents.reviewed import MOST_REPLACEMENTS
from evener.agents.reviewers.passthrough import PassThrough
from evener.agents.student import MOST_TURNS
from evener.environments.storefront import Storefront
from evener.protocols.error import ConfigError, HarnessError
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef, Reply, StopReason, Usage
from evener.protocols.task import Task
from evener.protocols.trajectory import Outcome, Trajectory
from evener.protocols.wire import Review, ReviewRequest

Shop = Callable[..., Any]
PASS = Review(decision="PASS")
SECRETS = """
name: secretive
prompt:
  system: SECRET-SYSTEM
  examples:
  - - {role: user, content: "SECRET-EXAMPLE 1 times 2"}
    - {role: assistant, call: {name: final, arguments: {answer: 2}}}
skills:
- {name: pay, when: {words: [total]}, text: SECRET-SKILL, system: SECRET-SKILL-SYSTEM, examples:
   [[{role: user, content: SECRET-SKILL-EXAMPLE}, {role: assistant, content: "{}"}]]}
memory:
  policy: notes
  entries: [{name: note, text: SECRET-NOTE}]
tools:
- {name: lookup, action: lookup, parameters: {type: object,
   properties: {item: {type: string}}, required: [item]}}
- {name: final, action: final, parameters: {type: object,
   properties: {answer: {type: number}}, required: [answer]}}
"""


def call(name: str, **arguments: object) -> str:
    return json.dumps({"name": name, "arguments": arguments})


def replace_by(text: str, reason: str = "") -> Review:
    return Review(decision="REPLACE", replacement=text, reason=reason)


def gold(task: Task) -> list[str]:
    return [call(made.name, **made.arguments) for made in Storefront().gold(task)]


def timeless(episode: Trajectory) -> Any:
    """All of an episode but its key, and how long its actions took."""
    found = episode.model_dump(exclude={"id", "key"})
    for event in found["events"]:
        event.pop("elapsed", None)
    return found


async def test_a_pass_through_review_gives_the_trajectory_of_no_review(
    shop: Shop, target: Harness, tasks: dict[str, Task]
) -> None:
    for task in tasks.values():
        lines = ["{", call("lookup", item="nothing"), *gold(task)]
        async with shop([*lines, *lines], PassThrough()) as here:
            plain = await here.play(target, task)
            seen = await here.play(target, task, review=PassThrough().digest)
        assert timeless(seen) == timeless(plain)
        assert seen.solved
        assert seen.key == plain.key.model_copy(update={"review": PassThrough().digest})
        assert seen.id != plain.id


async def test_a_replacement_is_executed_and_the_replaced_candidate_is_nowhere_in_the_trajectory(
    shop: Shop, target: Harness, tasks: dict[str, Task], says: Any
) -> None:
    task = tasks["calc"]
    right = gold(task)
    reviewer = says(replace_by(right[0], "SECRET-REASON"), PASS)
    async with shop([call("final", answer=4321), right[1]], reviewer) as here:
        played: Trajectory = await here.play(target, task, review=reviewer.digest)
        reviews = here.reviews
    assert played.outcome is Outcome.SOLVED
    mine = [m for m in played.messages if m.sampled]
    assert [(m.origin, m.content) for m in mine] == [("reviewer", right[0]), ("student", right[1])]
    assert mine[0].token_ids is None
    text = played.model_dump_json()
    assert "4321" not in text
    assert "SECRET-REASON" not in text
    # the private side is in the log
    assert reviews[0]["candidate"] == call("final", answer=4321)
    assert reviews[0]["reason"] == "SECRET-REASON"
    assert (reviews[0]["episode"], reviews[0]["turn"]) == (played.id, 0)


async def test_a_reviewer_is_shown_the_task_the_visible_trajectory_and_the_candidate_alone(
    shop: Shop, tasks: dict[str, Task], says: Any
) -> None:
    harness = parse_yaml(SECRETS, where="secretive.yaml")
    task = tasks["price"]
    reviewer = says(PASS)
    lines = gold(task)
    said = [call("lookup", item="nothing"), *lines[:1], call("final", answer=31337)]
    async with shop(said, reviewer, target=harness) as here:
        played = await here.play(harness, task, review=reviewer.digest)
        shown = [m.content for r in here.student.requests for m in r.messages]
    # the student was shown all of it
    assert all(any(f"SECRET-{part}" in text for text in shown) for part in ("SKILL", "NOTE"))
    for number, (request, _) in enumerate(reviewer.asked):
        document = request.document()
        assert "SECRET" not in json.dumps(document)
        assert task.id not in json.dumps(document)
        assert request.prompt == task.prompt
        assert request.candidate == said[number]
        assert request.turn == number
        assert [m.origin for m in request.visible] == ["student", "observation"] * number
        assert all(m.calls == () and m.token_ids is None for m in request.visible)
    # by construction: there is no field that could carry an answer, a score, a world or K
    assert set(ReviewRequest.model_fields) == {
        "review",
        "prompt",
        "visible",
        "candidate",
        "turn",
        "mean_logprob",
        "replaced",
        "episode",
    }
    # nor does the reviewer learn whose episode it is
    assert {request.episode for request, _ in reviewer.asked} == {""}
    assert played.outcome is Outcome.FAILED


async def test_after_five_replacements_every_candidate_passes_unseen(
    shop: Shop, target: Harness, tasks: dict[str, Task], says: Any
) -> None:
    task = tasks["calc"]
    reviewer = says(*(replace_by(call("calculator", expression=f"1+{n}")) for n in range(9)))
    async with shop(lambda _: call("lookup", item="x"), reviewer) as here:
        played = await here.play(target, task, review=reviewer.digest)
    origins = [m.origin for m in played.messages if m.sampled]
    assert origins == ["reviewer"] * MOST_REPLACEMENTS + ["student"]
    assert [request.replaced for request, _ in reviewer.asked] == list(range(MOST_REPLACEMENTS))


async def test_a_replacement_of_a_reply_that_was_cut_is_read_as_whole(
    shop: Shop, target: Harness, tasks: dict[str, Task], says: Any
) -> None:
    task = tasks["calc"]
    limit = target.middleware.loop.max_reply_tokens
    cut = Reply(
        text="and so on and",
        stop_reason=StopReason.LENGTH,
        usage=Usage(calls=1, completion_tokens=limit),
        token_ids=(1, 2),
        mean_logprob=-0.5,
        model=ModelRef(base="m", revision="r"),
    )
    right = gold(task)
    reviewer = says(replace_by(right[0]), PASS)
    async with shop([cut, right[1]], reviewer) as here:
        played = await here.play(target, task, review=reviewer.digest)
    assert played.outcome is Outcome.SOLVED
    assert reviewer.asked[0][0].mean_logprob == -0.5
    # the student was paid for what it said
    assert played.usage.completion_tokens >= limit


async def test_an_episode_under_review_ends_at_forty_turns(
    shop: Shop, target: Harness, tasks: dict[str, Task]
) -> None:
    loop = target.middleware.loop.model_copy(update={"max_turns": 60})
    middleware = target.middleware.model_copy(update={"loop": loop})
    patient = target.model_copy(update={"middleware": middleware, "name": "patient"})
    async with shop(lambda _: call("calculator", expression="1+1"), PassThrough()) as here:
        played = await here.play(patient, tasks["calc"], review=PassThrough().digest)
        free = await here.play(patient, tasks["calc"])
    assert sum(m.sampled for m in played.messages) == MOST_TURNS
    assert played.outcome is Outcome.TRUNCATED
    assert sum(m.sampled for m in free.messages) == 60


async def test_a_team_without_a_reviewer_runs_until_somebody_asks_for_one(
    shop: Shop, target: Harness, tasks: dict[str, Task]
) -> None:
    lines: Sequence[str] = gold(tasks["calc"])
    async with shop(lines) as here:
        assert (await here.play(target, tasks["calc"])).solved
    with pytest.raises(UnknownRecipient, match="harnessing"):
        async with shop(lines) as here:
            await here.play(target, tasks["price"], review="abc")


async def test_an_unknown_reviewer_and_a_native_harness_are_refused_in_one_line(
    shop: Shop, target: Harness, tasks: dict[str, Task]
) -> None:
    async with shop(gold(tasks["calc"]), PassThrough()) as here:
        with pytest.raises(ConfigError, match=r"no reviewer 'abc'.*passthrough"):
            await here.play(target, tasks["calc"], review="abc")
    protocol = target.middleware.protocol.model_copy(update={"format": "native"})
    middleware = target.middleware.model_copy(update={"protocol": protocol})
    native = target.model_copy(update={"middleware": middleware})
    async with shop(gold(tasks["calc"]), PassThrough()) as here:
        with pytest.raises(HarnessError, match="native protocol cannot be reviewed"):
            await here.play(native, tasks["calc"], review=PassThrough().digest)
