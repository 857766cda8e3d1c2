"""Episodes of a trial: the two arms on equal tasks, paired, infra outcomes run again.

Both arms of a pair have the same episode seed, so requests that the change leaves alone get the
same reply. A trial of a thing against itself (A/A) gives the arms seeds of their own instead.
"""

import asyncio
from collections.abc import Sequence
from typing import Literal

from evener.agents.bus import Peer
from evener.agents.plan import derive
from evener.agents.rollouts import together
from evener.agents.trials.supply import Draw
from evener.protocols.port import Progress
from evener.protocols.reference import EpisodeRef
from evener.protocols.task import Purpose
from evener.protocols.trajectory import Outcome
from evener.protocols.verdict import Pair
from evener.protocols.wire import RolloutFinished, RolloutRequest, TrialRequest

Arm = Literal["before", "after"]


class Arms:
    """Runs and counts one trial's episodes. `spent` counts fresh and reused ones and retries alike:
    a trial that is run again spends the same, however much of it is answered from the store. It
    goes up when a batch is planned; retries take what is left of the request's limit."""

    def __init__(
        self,
        peer: Peer,
        request: TrialRequest,
        *,
        slots: asyncio.Semaphore,
        retries: int = 2,
        progress: Progress | None = None,
    ) -> None:
        self._peer = peer
        self._request = request
        self._slots = slots
        self._retries = retries
        self._progress = progress
        self._same = (request.before_harness, request.before_model) == (
            request.after_harness,
            request.after_model,
        )
        self.spent = 0
        self.fresh = 0
        self.reused = 0
        self.calls = 0
        self.completion_tokens = 0

    async def screen(self, draws: Sequence[Draw]) -> list[EpisodeRef]:
        """The before arm on each draw, with seeds that no pair uses."""
        self.spent += len(draws)
        seed = derive(self._request.seed, "screen")
        return await together(
            self._episode(draw, "before", derive(seed, draw.task.id, draw.repeat)) for draw in draws
        )

    async def pairs(self, draws: Sequence[Draw]) -> list[Pair | None]:
        """Both arms on each draw; None where one of them could not be scored."""
        self.spent += 2 * len(draws)
        return await together(self._pair(draw) for draw in draws)

    async def _pair(self, draw: Draw) -> Pair | None:
        seed = derive(self._request.seed, "pair", draw.task.id, draw.repeat)
        other = derive(seed, "after") if self._same else seed
        before, after = await together(
            [self._episode(draw, "before", seed), self._episode(draw, "after", other)]
        )
        if before.reward is None or after.reward is None:
            return None
        return Pair(
            task=draw.task.id,
            kind=draw.task.kind,
            before=before.reward,
            after=after.reward,
            cost_before=float(before.tokens),
            cost_after=float(after.tokens),
        )

    async def _episode(self, draw: Draw, arm: Arm, seed: int) -> EpisodeRef:
        async with self._slots:
            episode = await self._attempt(draw, arm, seed)
            for _ in range(self._retries):
                if (
                    episode.outcome is not Outcome.INFRA
                    or self.spent >= self._request.rollout_limit
                ):
                    break
                self.spent += 1
                episode = await self._attempt(draw, arm, seed)
        return episode

    async def _attempt(self, draw: Draw, arm: Arm, seed: int) -> EpisodeRef:
        request = self._request
        before = arm == "before"
        answer = await self._peer.ask(
            "student",
            RolloutRequest(
                task=draw.task,
                harness=request.before_harness if before else request.after_harness,
                model=request.before_model if before else request.after_model,
                purpose=Purpose.GATE,
                seed=seed,
                temperature=request.temperature,
            ),
            RolloutFinished,
        )
        self._count(answer.episode)
        return answer.episode

    def _count(self, episode: EpisodeRef) -> None:
        if episode.reused:
            self.reused += 1
        else:
            self.fresh += 1
        self.calls += episode.calls
        self.completion_tokens += episode.completion_tokens
        if self._progress:
            self._progress.advance()
