"""Many episodes at once: a bounded window in flight, infra failures run again.

Order of the answers is the order of the tasks. An episode that stays `infra` after its retries
comes back as such: whoever asked leaves it out and counts it against coverage.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from typing import Protocol, TypeVar

from evener.agents.budget import Meter
from evener.protocols.digest import Wire
from evener.protocols.model import ModelRef
from evener.protocols.port import Progress
from evener.protocols.reference import EpisodeRef
from evener.protocols.task import Purpose, Task
from evener.protocols.trajectory import Outcome
from evener.protocols.wire import RolloutFinished, RolloutRequest

T = TypeVar("T")


class Asker(Protocol):
    """A peer, or the bus itself from outside."""

    async def ask(
        self, recipient: str, message: Wire, reply: type[RolloutFinished], /
    ) -> RolloutFinished:
        """Send a request and wait for its reply."""
        ...


class Rollouts:
    """Asks the peer `student` on behalf of `asker`."""

    def __init__(
        self,
        asker: Asker,
        *,
        window: int = 64,
        retries: int = 2,
        meter: Meter | None = None,
        progress: Progress | None = None,
        student: str = "student",
    ) -> None:
        self._asker = asker
        self._window = asyncio.Semaphore(window)
        self._retries = retries
        self._meter = meter
        self._progress = progress
        self._student = student

    async def run(
        self,
        tasks: Sequence[Task],
        *,
        harness: str,
        model: ModelRef,
        purpose: Purpose,
        seed: int,
        attempt: int = 0,
        temperature: float = 0.0,
        label: str = "",
        review: str = "",
    ) -> tuple[EpisodeRef, ...]:
        """One episode for each task, in the order of the tasks; `review` names a reviewer."""
        if self._progress and label:
            self._progress.stage(label, total=len(tasks))
        requests = [
            RolloutRequest(
                task=task,
                harness=harness,
                model=model,
                purpose=purpose,
                seed=seed,
                attempt=attempt,
                temperature=temperature,
                review=review,
            )
            for task in tasks
        ]
        return tuple(await together(self._one(request) for request in requests))

    async def _one(self, request: RolloutRequest) -> EpisodeRef:
        async with self._window:
            done = await self._asker.ask(self._student, request, RolloutFinished)
            left = self._retries
            while done.episode.outcome is Outcome.INFRA and left:
                left -= 1
                done = await self._asker.ask(self._student, request, RolloutFinished)
            if self._meter:
                self._meter.add(
                    calls=done.episode.calls, completion_tokens=done.episode.completion_tokens
                )
            if self._progress:
                self._progress.advance()
            return done.episode


async def together(work: Iterable[Awaitable[T]]) -> list[T]:
    """All results in order. The first failure stops the rest and is raised as it is."""

    async def one(item: Awaitable[T]) -> T:
        return await item

    try:
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(one(item)) for item in work]
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
    return [task.result() for task in running]
