"""Many episodes at once on a server of whose answers a fifth is broken, in every way there is.

What the log says was used is what the server counted: requests, answers that told their usage,
tokens.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from evener.agents.harness.load import parse_yaml
from evener.agents.harness.loop import run_episode
from evener.agents.models.remote.faults import FAULTS, Answered, FaultKind, FaultServer, seeded
from evener.agents.models.remote.faults.fault import Script
from evener.agents.models.remote.openai import OpenAIModel
from evener.agents.models.remote.settings import RemoteSettings, Timeouts
from evener.protocols.event import Ended
from evener.protocols.message import Call
from evener.protocols.model import Usage
from evener.protocols.port import ActionSpec, Observation
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Outcome, Score, Trajectory, prompt_digest

EPISODES, AT_ONCE, ATTEMPTS = 500, 64, 4
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
}
ENDED = {
    Outcome.SOLVED: {"final"},
    Outcome.FAILED: {"final", "no_action"},
    Outcome.TRUNCATED: {"max_turns", "loop_guard", "context_exceeded"},
    Outcome.INFRA: {"infra"},
}


class Counting:
    """Add one three times, then say what you have."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.at = 0
        self.given: int | None = None

    def observation(self) -> Observation:
        return Observation(text=self.task.prompt)

    def actions(self) -> tuple[ActionSpec, ...]:
        return (
            ActionSpec(name="add", description="Add n.", parameters=PARAMETERS),
            ActionSpec(name="final", description="Say it.", parameters=PARAMETERS, final=True),
        )

    async def act(self, call: Call) -> Observation:
        number = int(str(call.arguments["n"]))
        if call.name == "final":
            self.given = number
            return Observation(text="done", done=True)
        self.at += number
        return Observation(text=str(self.at))

    async def score(self) -> Score:
        right = self.given == 3 and self.at == 3
        return Score(value=float(right), verdict="correct" if right else "incorrect")

    async def close(self) -> None:
        pass


def harness(protocol: str) -> Any:
    tools = "".join(
        f"  - {{name: {name}, action: {name}, parameters: {json.dumps(PARAMETERS)}}}\n"
        for name in ("add", "final")
    )
    return parse_yaml(
        "name: counting\nprompt: {system: Count., task: '{{ question }}'}\n"
        f"tools:\n{tools}middleware: {{protocol: {{format: {protocol}}}, loop: {{max_turns: 8, "
        "max_reply_tokens: 64}}",
        where="here",
    )


def counts(body: dict[str, Any]) -> str | Answered:
    """What a student does who can count: by the results that it was shown."""
    native = bool(body.get("tools"))
    shown = [m for m in body["messages"][2:] if m["role"] == ("tool" if native else "user")]
    done = [m["content"] for m in shown if str(m["content"]).isdigit()]
    name, number = ("final", 3) if "3" in done else ("add", 1)
    if native:
        return Answered(calls=((name, {"n": number}),))
    return json.dumps({"name": name, "arguments": {"n": number}})


async def play(
    model: OpenAIModel, number: int, protocol: str, slots: asyncio.Semaphore
) -> Trajectory:
    task = Task(id=f"t{number}", split=Split.MINE, kind="count", prompt=f"Count {number}")
    wanted = harness(protocol)
    key = EpisodeKey(
        task=task.id,
        prompt_digest=prompt_digest(task),
        harness=wanted.digest(),
        model=model.ref.revision,
        purpose=Purpose.MINE,
        seed=number,
    )
    async with slots:
        return await run_episode(Counting(task), task, wanted, model, key=key, sampling_seed=number)


async def many(
    script: Script, journal: Any, *, episodes: int, stream: bool, protocol: str = "json"
) -> tuple[FaultServer, Sequence[Trajectory]]:
    settings = RemoteSettings(
        attempts=ATTEMPTS,
        longest_wait_s=0.3,
        stream=stream,
        timeouts=Timeouts(connect_s=20, read_s=4, total_s=20),
        in_flight=AT_ONCE,
    )
    slots = asyncio.Semaphore(AT_ONCE)
    async with FaultServer(counts, script) as server:
        model = OpenAIModel("small", server.url, settings=settings)
        model.log_to(journal)
        work = (play(model, n, protocol, slots) for n in range(episodes))
        played = await asyncio.wait_for(asyncio.gather(*work), 280)
        await model.close()
    return server, played


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stream", "protocol"), [(False, "json"), (True, "json"), (False, "native")]
)
async def test_every_episode_ends_by_name_no_call_is_tried_too_often_and_the_books_agree(
    journal: Any, stream: bool, protocol: str
) -> None:
    script = seeded(7, rate=0.2, kinds=FAULTS)
    server, played = await many(
        script, journal, episodes=EPISODES, stream=stream, protocol=protocol
    )
    check(server, played, journal)
    assert len(played) == EPISODES
    assert {*server.books.faults} == {*FAULTS}
    share = sum(server.books.faults.values()) / server.books.requests
    assert 0.17 < share < 0.23
    assert server.books.most <= AT_ONCE
    solved = sum(t.solved for t in played)
    assert solved > EPISODES / 2


async def test_a_few_episodes_end_by_name_and_the_books_agree(journal: Any) -> None:
    kinds: list[FaultKind] = [kind for kind in FAULTS if kind not in ("hang", "silence")]
    script = seeded(3, rate=0.3, kinds=kinds)
    server, played = await many(script, journal, episodes=30, stream=False)
    check(server, played, journal)


def check(server: FaultServer, played: Sequence[Trajectory], journal: Any) -> None:
    for trajectory in played:
        ended = trajectory.events[-1]
        assert isinstance(ended, Ended)
        assert ended.reason in ENDED[trajectory.outcome], (trajectory.outcome, ended)
        if trajectory.outcome is Outcome.INFRA:
            assert trajectory.reward is None
            assert trajectory.score.error_kind in NAMED
    calls = [body["attempts"] for body in journal.bodies("provider_call")]
    attempts = [attempt for call in calls for attempt in call]
    assert max(map(len, calls)) <= ATTEMPTS
    assert Counter(a["outcome"] for a in attempts)["cancelled"] == 0
    books = server.books
    told = [a for a in attempts if a["prompt_tokens"] is not None]
    assert (len(attempts), len(told), len(attempts) - len(told)) == (
        books.requests,
        books.told,
        books.untold,
    )
    assert sum(a["prompt_tokens"] for a in told) == books.prompt_tokens
    assert sum(a["completion_tokens"] for a in told) == books.completion_tokens
    # what the trajectories hold is what was answered; the rest is what failed attempts cost
    used = sum((trajectory.usage for trajectory in played), Usage())
    answered = [a for a in attempts if a["outcome"] == "answered"]
    assert used.calls == len(answered)
    assert used.prompt_tokens == sum(a["prompt_tokens"] or 0 for a in answered)
    assert used.completion_tokens == sum(a["completion_tokens"] or 0 for a in answered)


NAMED = {
    "rate_limited",
    "overloaded",
    "unreachable",
    "timeout",
    "cut",
    "malformed",
    "empty",
    "provider_error",
    "content_filter",
}
