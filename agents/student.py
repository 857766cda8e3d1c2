"""The student: runs episodes of a model inside a harness, each at most once.

An episode whose key is already finished in the store is answered from there, so a run that starts
again pays for nothing twice. Model calls are bounded by a semaphore, whoever asks. Where a rollout
names a reviewer, the harnessing agent sees every response before it is executed.
"""

import asyncio
from pathlib import Path
from typing import ClassVar

from evener.agents.ballot import ballot_key, counted, same_in
from evener.agents.bus import Peer, answers
from evener.agents.harness.loop import run_episode
from evener.agents.hosted import trained
from evener.agents.plan import derive
from evener.agents.reviewed import Reviewed, check_reviewable
from evener.agents.rollouts import together
from evener.protocols.error import ModelError
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef, Reply, Request
from evener.protocols.port import Environment, Model, Store
from evener.protocols.reference import EpisodeRef
from evener.protocols.trajectory import EpisodeKey, Trajectory, prompt_digest
from evener.protocols.wire import (
    ModelServed,
    Review,
    ReviewRequest,
    RolloutFinished,
    RolloutRequest,
    ServeModel,
)

HARNESSING = "harnessing"
"""The peer that reviews."""
MOST_TURNS = 40
"""Of an episode under review."""


class Limited:
    """A model with at most `slots` calls in flight over all its views."""

    def __init__(self, model: Model, slots: asyncio.Semaphore) -> None:
        self._model = model
        self._slots = slots

    @property
    def ref(self) -> ModelRef:
        """The weights behind it."""
        return self._model.ref

    async def complete(self, request: Request) -> Reply:
        """One reply, once a slot is free."""
        async with self._slots:
            return await self._model.complete(request)

    async def close(self) -> None:
        """Close the model behind it."""
        await self._model.close()


class Student(Peer):
    """Answers rollout requests for the base model and for every adapter it was told to serve."""

    asks: ClassVar[tuple[str, ...]] = ()
    may_ask: ClassVar[tuple[str, ...]] = (HARNESSING,)
    publishes: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, environment: Environment, model: Model, store: Store, *, concurrency: int = 64
    ) -> None:
        super().__init__()
        self._environment = environment
        self._base = model
        self._store = store
        self._slots = asyncio.Semaphore(concurrency)
        self._served: dict[str, Model] = {model.ref.revision: Limited(model, self._slots)}
        self._harnesses: dict[str, Harness] = {}
        self._running: dict[str, asyncio.Task[EpisodeRef]] = {}

    @answers
    async def rollout(self, message: RolloutRequest) -> RolloutFinished:
        """Run the episode, or give the finished one with the same key."""
        key = EpisodeKey(
            task=message.task.id,
            prompt_digest=prompt_digest(message.task),
            harness=message.harness,
            model=message.model.revision,
            purpose=message.purpose,
            seed=message.seed,
            attempt=message.attempt,
            temperature=message.temperature,
            review=message.review,
        )
        finished = self._store.finished(key)
        if finished is not None:
            trajectory = self._store.get(Trajectory, finished)
            return RolloutFinished(episode=reference(trajectory, finished, reused=True))
        running = self._running.get(key.id())
        if running is None:
            running = asyncio.create_task(self._run(message, key))
            self._running[key.id()] = running
            running.add_done_callback(lambda task: self._over(key, task))
        # shielded: another request may wait for the same episode
        return RolloutFinished(episode=await asyncio.shield(running))

    @answers
    async def serve(self, message: ServeModel) -> ModelServed:
        """Serve trained weights beside the base, and check that they are the ones asked for."""
        if message.model.revision not in self._served:
            model = await trained(self._base, message.model.adapter or "", Path(message.folder))
            if model.ref.revision != message.model.revision:
                raise ModelError(
                    f"the model in {message.folder} is {model.ref.revision[:12]}, not "
                    f"{message.model.revision[:12]}",
                    remedy="it was changed after training; train it again",
                )
            self._served[model.ref.revision] = Limited(model, self._slots)
        return ModelServed(model=message.model)

    async def leave(self) -> None:
        """End the episodes that nobody waits for any more: their store is about to close."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _over(self, key: EpisodeKey, task: asyncio.Task[EpisodeRef]) -> None:
        """Forget an episode that has ended. What it failed with is for those who wait for it; where
        all of them were cancelled, nobody else is to hear of it."""
        self._running.pop(key.id(), None)
        if not task.cancelled():
            task.exception()

    async def _run(self, message: RolloutRequest, key: EpisodeKey) -> EpisodeRef:
        model = self._served.get(message.model.revision)
        if model is None:
            served = ", ".join(str(m.ref) for m in self._served.values())
            raise ModelError(f"{message.model} is not served here (served: {served})")
        harness = self._harness(message.harness)
        votes = harness.middleware.loop.votes
        if message.review:
            model = self._reviewed(model, message, harness, episode=key.id())

        async def play(key: EpisodeKey, sampling_seed: int) -> Trajectory:
            session = await self._environment.open(message.task, seed=message.seed)
            try:
                return await run_episode(
                    session,
                    message.task,
                    harness,
                    model,
                    key=key,
                    sampling_seed=sampling_seed,
                    most_turns=MOST_TURNS if message.review else None,
                )
            finally:
                await session.close()

        if votes == 1:
            trajectory = await play(key, message.seed)
        else:
            seeds = [derive(message.seed, "ballot", number) for number in range(votes)]
            ballots = await together(play(ballot_key(key), seed) for seed in seeds)
            trajectory = await counted(ballots, key, same=same_in(self._environment))
        return reference(trajectory, self._store.finish(trajectory), reused=False)

    def _reviewed(
        self, model: Model, message: RolloutRequest, harness: Harness, *, episode: str
    ) -> Reviewed:
        """The model for one episode, reviewed by the reviewer that the request names."""
        check_reviewable(harness)

        async def ask(request: ReviewRequest) -> Review:
            return await self.ask(HARNESSING, request, Review)

        return Reviewed(
            model, ask, review=message.review, prompt=message.task.prompt, episode=episode
        )

    def _harness(self, digest: str) -> Harness:
        if digest not in self._harnesses:
            self._harnesses[digest] = self._store.get(Harness, digest)
        return self._harnesses[digest]


def reference(trajectory: Trajectory, digest: str, *, reused: bool) -> EpisodeRef:
    """What travels on the bus instead of the trajectory."""
    return EpisodeRef(
        trajectory=digest,
        episode=trajectory.id,
        task=trajectory.task.id,
        kind=trajectory.task.kind,
        outcome=trajectory.outcome,
        reward=trajectory.reward,
        prompt_tokens=trajectory.usage.read,
        completion_tokens=trajectory.usage.written,
        calls=trajectory.usage.made,
        reused=reused,
    )
