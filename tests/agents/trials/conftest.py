"""A validator on a real bus with a real store; only the student's luck is scripted."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from evener.agents.bus import Bus, Peer, answers
from evener.agents.gates.paired import PairedGate, PairedSettings
from evener.agents.pattern import Background
from evener.agents.record.memory import MemoryLog
from evener.agents.record.store import Record
from evener.agents.student import reference
from evener.agents.validator import Validator
from evener.protocols.error import DataError
from evener.protocols.event import Ended, ParseFailed
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef, Usage
from evener.protocols.port import Gate, Session
from evener.protocols.task import Split, Task
from evener.protocols.trajectory import EpisodeKey, Outcome, Score, Trajectory, prompt_digest
from evener.protocols.verdict import Verdict
from evener.protocols.wire import RolloutFinished, RolloutRequest, TrialFinished, TrialRequest

BASE = ModelRef(base="m", revision="r0")
TUNED = ModelRef(base="m", adapter="m1", revision="r1")
SMALL = PairedGate(
    PairedSettings(looks_in=((6, 1.5), (12, 1.3)), looks_out=((8, 1.3), (16, 1.2)), margin=0.25)
)
LEAST = 2 * (6 + 8)


class Tasks:
    """Endless, or with so many tasks a split. Every third task is of the kind `odd`."""

    name = "tasks"
    digest = "d"

    def __init__(self, size: int | None = None) -> None:
        self.size = size

    def tasks(self, split: Split, *, count: int, seed: int) -> Sequence[Task]:
        if self.size is not None and count > self.size:
            raise DataError(f"{split} has {self.size} tasks, {count} were asked for")
        return [
            Task(
                id=f"{split}-{seed if self.size is None else 0}-{at}",
                split=split,
                kind="odd" if at % 3 == 0 else "even",
                prompt="?",
            )
            for at in range(count)
        ]

    async def open(self, task: Task, *, seed: int) -> Session:
        raise NotImplementedError


Luck = Callable[[RolloutRequest], float | None]


@dataclass
class Seen:
    """What the student was asked, and how many episodes were in flight at once."""

    requests: list[RolloutRequest] = field(default_factory=list[RolloutRequest])
    flying: int = 0
    most: int = 0


class Desk(Peer):
    """A student whose reward is a function of the request; None is an infra failure."""

    def __init__(
        self, store: Record, luck: Luck, *, tokens: Callable[[RolloutRequest], int], pause: float
    ) -> None:
        super().__init__()
        self.seen = Seen()
        self._store = store
        self._luck = luck
        self._tokens = tokens
        self._pause = pause

    @answers
    async def rollout(self, message: RolloutRequest) -> RolloutFinished:
        self.seen.requests.append(message)
        self.seen.flying += 1
        self.seen.most = max(self.seen.most, self.seen.flying)
        await asyncio.sleep(self._pause)
        self.seen.flying -= 1
        key = EpisodeKey(
            task=message.task.id,
            prompt_digest=prompt_digest(message.task),
            harness=message.harness,
            model=message.model.revision,
            purpose=message.purpose,
            seed=message.seed,
            attempt=message.attempt,
            temperature=message.temperature,
        )
        done = self._store.finished(key)
        if done is not None:
            found = self._store.get(Trajectory, done)
            return RolloutFinished(episode=reference(found, done, reused=True))
        found = trajectory(key, message, self._luck(message), self._tokens(message))
        return RolloutFinished(episode=reference(found, self._store.finish(found), reused=False))


def trajectory(
    key: EpisodeKey, message: RolloutRequest, reward: float | None, tokens: int
) -> Trajectory:
    outcome = Outcome.INFRA if reward is None else Outcome.FAILED
    if reward == 1.0:
        outcome = Outcome.SOLVED
    events = (
        ParseFailed(turn=0, fault="no_call", detail="a plain answer"),
        Ended(turn=0, reason="no_action"),
    )
    return Trajectory(
        id=key.id(),
        key=key,
        task=message.task,
        model=message.model,
        messages=(),
        events=events,
        outcome=outcome,
        score=Score(value=reward, verdict="correct" if reward == 1.0 else "incorrect"),
        usage=Usage(calls=1, completion_tokens=tokens),
    )


@dataclass
class Bench:
    """A validator on a bus with its student and a store, and the digests of two harnesses."""

    bus: Bus
    desk: Desk
    store: Record
    before: str
    after: str

    async def trial(
        self,
        *,
        limit: int = 400,
        seed: int = 1,
        temperature: float = 0.3,
        signatures: tuple[str, ...] = (),
        kind: str = "improve",
        after: str | None = None,
        after_model: ModelRef = BASE,
    ) -> Verdict:
        request = TrialRequest.model_validate(
            {
                "trial": "t",
                "kind": kind,
                "before_harness": self.before,
                "after_harness": after or self.after,
                "before_model": BASE,
                "after_model": after_model,
                "signatures": signatures,
                "rollout_limit": limit,
                "seed": seed,
                "temperature": temperature,
            }
        )
        return (await self.bus.ask("validator", request, TrialFinished)).verdict


@asynccontextmanager
async def bench(
    folder: Path,
    luck: Luck,
    *,
    gate: Gate = SMALL,
    size: int | None = None,
    window: int = 32,
    tokens: Callable[[RolloutRequest], int] = lambda _: 10,
    pause: float = 0.0,
) -> AsyncIterator[Bench]:
    with Record.open(folder / "events.db") as store:
        before, after = store.put(Harness(name="before")), store.put(Harness(name="after"))
        desk = Desk(store, luck, tokens=tokens, pause=pause)
        bus = Bus(MemoryLog())
        bus.join("student", desk)
        bus.join(
            "validator",
            Validator(Tasks(size), gate, store, background=Background(), window=window),
        )
        async with bus:
            yield Bench(bus, desk, store, before, after)


class Court:
    """What the tests of a trial need: benches, and ways to be lucky."""

    small, least, tuned = SMALL, LEAST, TUNED
    before, after = (Harness(name=name).digest() for name in ("before", "after"))

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def bench(
        self,
        luck: Luck,
        *,
        gate: Gate = SMALL,
        size: int | None = None,
        window: int = 32,
        tokens: Callable[[RolloutRequest], int] = lambda _: 10,
        pause: float = 0.0,
    ) -> AbstractAsyncContextManager[Bench]:
        return bench(
            self._folder, luck, gate=gate, size=size, window=window, tokens=tokens, pause=pause
        )

    def draw(self, message: RolloutRequest) -> float:
        """A number in 0…1 that belongs to the request."""
        return random.Random(f"{message.task.id} {message.seed} {message.harness}").random()

    def chance(self, before: float, after: float, outside: float = 0.0) -> Luck:
        """Pass with probability `before`, under the other harness with `after` (held_in) or
        `before` + `outside` (held_out)."""

        def luck(message: RolloutRequest) -> float:
            rate = before
            if message.harness == self.after:
                rate = after if message.task.split is Split.HELD_IN else before + outside
            return float(self.draw(message) < rate)

        return luck


@pytest.fixture
def court(tmp_path: Path) -> Court:
    return Court(tmp_path)
