"""Which of several episodes on one task counts, and what an episode with votes is."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evener.agents.ballot import TEMPERATURE, majority, same_in
from evener.agents.bus import Bus
from evener.agents.harness.load import load
from evener.agents.models.scripted import ScriptedModel
from evener.agents.record.store import Record
from evener.agents.student import Student
from evener.environments.storefront import Storefront, harness_path
from evener.protocols.error import HarnessError
from evener.protocols.event import Acted, CallRefused, Ended, Event, Voted
from evener.protocols.harness import Harness
from evener.protocols.message import Call, Message
from evener.protocols.model import ModelRef, Request, Usage
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Outcome, Score, Trajectory
from evener.protocols.wire import RolloutFinished, RolloutRequest

TASK = Task(id="t", split=Split.TEST, prompt="?")


def episode(
    answer: Any = None,
    *,
    solved: bool = False,
    refused: int = 0,
    calls: int = 1,
    outcome: Outcome | None = None,
    said: str = "",
) -> Trajectory:
    call = Call(name="final", arguments={"answer": answer})
    events: list[Event] = [
        CallRefused(turn=0, call=call, reason="unknown_tool", detail="") for _ in range(refused)
    ]
    if answer is not None:
        events.append(Acted(turn=0, tool="final", call=call, observation="done", done=True))
    events.append(Ended(turn=0, reason="final" if answer is not None or said else "max_turns"))
    key = EpisodeKey(
        task="t", prompt_digest="", harness="", model="", purpose=Purpose.EVALUATE, seed=0
    )
    return Trajectory(
        id="e",
        key=key,
        task=TASK,
        model=ModelRef(base="b", revision="r"),
        messages=(Message(role="assistant", content=said, sampled=True),),
        events=tuple(events),
        outcome=outcome or (Outcome.SOLVED if solved else Outcome.FAILED),
        score=Score(value=float(solved), verdict="correct" if solved else "incorrect"),
        usage=Usage(calls=calls),
    )


written = same_in(Storefront())


async def test_majority_takes_the_most_frequent_answer_and_the_first_of_equals() -> None:
    assert await majority([episode(1), episode(2), episode(2)], same=written) == 1
    assert await majority([episode(3), episode(2)], same=written) == 0
    assert await majority([episode(), episode(2)], same=written) == 1
    assert await majority([episode(), episode()], same=written) == 0


async def test_equal_numbers_are_one_answer_however_they_are_written() -> None:
    assert await majority([episode(7), episode("12.50"), episode(12.5)], same=written) == 1
    assert await majority([episode(7), episode("1,200"), episode(1200)], same=written) == 1
    long = [episode("1"), episode("12345678901"), episode("12345678902"), episode(12345678902)]
    assert await majority(long, same=written) == 2
    apart = [episode("x"), episode("1,2"), episode("12"), episode("1_2"), episode("12")]
    assert await majority(apart, same=written) == 2
    tiny = [episode("x"), episode("0.123456789012"), episode("0.123456789013")]
    assert await majority(tiny, same=written) == 0
    polite = [episode("no"), episode(" Yes  please"), episode("yes please")]
    assert await majority(polite, same=written) == 1


async def test_an_answer_can_be_the_last_reply() -> None:
    said = [episode(said="6"), episode(said="5"), episode(said="5.0")]
    assert await majority(said, same=written) == 1


async def test_the_environment_says_which_answers_are_one() -> None:
    async def halves(left: str, right: str) -> bool:
        return {left, right} == {"1/2", "0.5"}

    found = [episode("x"), episode("1/2"), episode("y"), episode("0.5")]
    assert await majority(found, same=written) == 0
    assert await majority(found, same=halves) == 1


async def test_the_environment_is_asked_about_answers_as_they_were_handed_in() -> None:
    asked: list[tuple[str, str]] = []

    async def noted(left: str, right: str) -> bool:
        asked.append((left, right))
        return False

    await majority([episode(" 1,234.50"), episode(0.00001)], same=noted)
    assert asked == [("1,234.50", "0.00001")]


async def test_a_failure_of_the_machinery_has_no_vote() -> None:
    broken = episode(1, outcome=Outcome.INFRA)
    assert await majority([broken, broken, episode(2)], same=written) == 2
    assert await majority([broken, broken], same=written) == 0
    assert await majority([broken, episode()], same=written) == 1


def voting(votes: int) -> Harness:
    harness = load(harness_path("target"))
    loop = harness.middleware.loop.model_copy(update={"votes": votes})
    middleware = harness.middleware.model_copy(update={"loop": loop})
    return harness.model_copy(update={"middleware": middleware})


def final(answer: float) -> str:
    return json.dumps({"name": "final", "arguments": {"answer": answer}})


Say = Callable[[Request], str]


async def asked(say: Say, path: Path, *, votes: int, **more: Any) -> tuple[Trajectory, list[Any]]:
    """One rollout through the student peer: what is kept, and all requests."""
    model, desk = ScriptedModel(say), Storefront()
    (task,) = desk.tasks(Split.TEST, count=1, seed=3)
    with Record.open(path / "events.db") as record:
        bus = Bus(record)
        bus.join("student", Student(desk, model, record))
        request = RolloutRequest(
            task=task,
            harness=record.put(voting(votes)),
            model=model.ref,
            purpose=Purpose.EVALUATE,
            seed=5,
            **more,
        )
        async with bus:
            first = await bus.ask("student", request, RolloutFinished)
            again = await bus.ask("student", request, RolloutFinished)
        assert again.episode.trajectory == first.episode.trajectory
        assert [row.trajectory for row in record.trajectories()] == [first.episode.trajectory]
        kept = record.get(Trajectory, first.episode.trajectory)
    assert kept.key.id() == kept.id == first.episode.episode
    return kept, model.requests


async def test_an_episode_with_votes_is_the_first_with_the_elected_answer(tmp_path: Path) -> None:
    given: dict[int, float] = {}

    def say(request: Request) -> str:
        answers = (7, 12, 9, 12, 7, 12)
        return final(given.setdefault(request.sampling.seed, answers[len(given)]))

    kept, requests = await asked(say, tmp_path, votes=6)
    assert len(given) == len(requests) == 6
    assert {request.sampling.temperature for request in requests} == {TEMPERATURE}
    (vote,) = [event for event in kept.events if isinstance(event, Voted)]
    assert sorted(vote.answers, key=str) == ["12", "12", "12", "7", "7", "9"]
    assert (vote.ballots, vote.votes) == (6, 3)
    assert vote.answers[vote.elected] == "12"
    assert vote.answers.index("12") == vote.elected
    (acted,) = [event for event in kept.events if isinstance(event, Acted)]
    assert acted.call.arguments == {"answer": 12}
    assert kept.usage.calls == 6
    assert kept.key.temperature == 0.0


async def test_ballots_keep_the_temperature_that_is_asked_for(tmp_path: Path) -> None:
    _, requests = await asked(lambda _: final(1), tmp_path, votes=3, temperature=0.3)
    assert {request.sampling.temperature for request in requests} == {0.3}


async def test_without_votes_an_episode_is_one_and_greedy(tmp_path: Path) -> None:
    kept, requests = await asked(lambda _: final(1), tmp_path, votes=1)
    assert [request.sampling.temperature for request in requests] == [0.0]
    assert not any(isinstance(event, Voted) for event in kept.events)


async def test_votes_are_not_reviewed(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="cannot be reviewed"):
        await asked(lambda _: final(1), tmp_path, votes=2, review="r" * 64)
