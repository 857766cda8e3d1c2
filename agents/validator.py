"""The Validator as a peer: runs trials on gate tasks with the gate it was given.

It knows held_in and held_out and nothing else, and every episode it asks for has the purpose
`gate`, so neither critic nor trainer can see one.
"""

import asyncio
from typing import ClassVar

from evener.agents.bus import Peer, answers
from evener.agents.pattern import Background
from evener.agents.trials.arms import Arms
from evener.agents.trials.trial import Trial
from evener.protocols.port import Environment, Gate, Progress, Store
from evener.protocols.wire import TrialFinished, TrialRequest


class Validator(Peer):
    """At most `window` episodes in flight over all its trials; an infra outcome is run again
    `retries` times before the pair is left out. Temperature and rollout limit come with each
    request."""

    asks: ClassVar[tuple[str, ...]] = ("student",)
    publishes: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        environment: Environment,
        gate: Gate,
        store: Store,
        *,
        background: Background,
        window: int = 32,
        retries: int = 2,
        progress: Progress | None = None,
    ) -> None:
        super().__init__()
        self._environment = environment
        self._gate = gate
        self._store = store
        self._background = background
        self._slots = asyncio.Semaphore(window)
        self._retries = retries
        self._progress = progress

    @answers
    async def trial(self, message: TrialRequest) -> TrialFinished:
        """Compare the two (model, harness) pairs on fresh tasks."""
        arms = Arms(
            self,
            message,
            slots=self._slots,
            retries=self._retries,
            progress=self._progress,
        )
        trial = Trial(
            message,
            arms,
            environment=self._environment,
            gate=self._gate,
            store=self._store,
            background=self._background,
        )
        return TrialFinished(verdict=await trial.run())
