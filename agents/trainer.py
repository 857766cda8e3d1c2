"""The Trainer as a peer: fetches accepted episodes by digest and has a student fine-tuned on them.

It takes trajectories whose purpose is `collect` on the split `mine`, and refuses every other
before anything is trained.
"""

from pathlib import Path
from typing import ClassVar

from evener.agents.bus import Peer, answers
from evener.agents.record.name import safe_name
from evener.protocols.error import DataError
from evener.protocols.harness import Harness
from evener.protocols.port import FineTuner, Store
from evener.protocols.task import Purpose, Split
from evener.protocols.trajectory import Trajectory
from evener.protocols.wire import ModelTrained, TrainRequest


class Trainer(Peer):
    """Answers train requests with an adapter in a folder of its name under `models`."""

    asks: ClassVar[tuple[str, ...]] = ()
    publishes: ClassVar[tuple[str, ...]] = ()

    def __init__(self, tuner: FineTuner, store: Store, models: Path) -> None:
        super().__init__()
        self._tuner = tuner
        self._store = store
        self._models = models

    @answers
    async def train(self, message: TrainRequest) -> ModelTrained:
        """A model trained on these episodes, or why there is none.

        Raises DataError for an episode of another purpose or split than the trainer may see.
        """
        name = safe_name(message.name, what="model")
        serving = self._store.get(Harness, message.serving_harness)
        episodes = [self._store.get(Trajectory, digest) for digest in message.trajectories]
        for episode in episodes:
            if episode.key.purpose is not Purpose.COLLECT or episode.task.split is not Split.MINE:
                raise DataError(
                    f"a {episode.key.purpose} episode of the split {episode.task.split} is not to "
                    "be trained on",
                    where=f"episode {episode.id}",
                    remedy="the trainer takes `collect` episodes of the split `mine` only",
                )
        return await self._tuner.train(
            episodes,
            name=name,
            serving=serving,
            base=message.base,
            folder=self._models / name,
            seed=message.seed,
        )
