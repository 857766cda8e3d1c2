"""The HarnessCritic as a peer: reads failed mining episodes, answers with blame and patches.

It takes trajectories whose purpose is `mine` on the split `mine`, and refuses every other.
"""

import asyncio
from typing import ClassVar

from evener.agents.bus import Peer, answers
from evener.protocols.error import DataError
from evener.protocols.harness import Harness
from evener.protocols.port import Critic, Store
from evener.protocols.task import Purpose, Split
from evener.protocols.trajectory import Trajectory
from evener.protocols.wire import AttributeFailures, PatchesProposed


class HarnessCritic(Peer):
    """Wraps any `Critic`: rules, a model, or a random control."""

    asks: ClassVar[tuple[str, ...]] = ()
    publishes: ClassVar[tuple[str, ...]] = ()

    def __init__(self, critic: Critic, store: Store) -> None:
        super().__init__()
        self._critic = critic
        self._store = store

    @answers
    async def attribute(self, message: AttributeFailures) -> PatchesProposed:
        """One attribution for every failure, then proposals, best first."""
        harness = self._store.get(Harness, message.harness)
        failures = [self._store.get(Trajectory, digest) for digest in message.trajectories]
        for failure in failures:
            if failure.key.purpose is not Purpose.MINE or failure.task.split is not Split.MINE:
                raise DataError(
                    f"the critic was given a {failure.key.purpose} episode of the split "
                    f"{failure.task.split}",
                    where=failure.id,
                    remedy="the critic takes `mine` episodes of the split `mine` only",
                )
        attributions = await asyncio.gather(
            *(self._critic.attribute(failure, harness) for failure in failures)
        )
        proposals = await self._critic.propose(
            attributions,
            harness,
            refused=frozenset(message.refused),
            limit=message.limit,
            seed=message.seed,
        )
        return PatchesProposed(attributions=tuple(attributions), proposals=proposals)
