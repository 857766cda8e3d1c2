"""The trainer's peer: what it hands to the fine-tuner, and what it refuses to see."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from evener.agents.bus import Bus
from evener.agents.record.memory import MemoryLog
from evener.agents.trainer import Trainer
from evener.protocols.error import DataError, UserError
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef, Usage
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Outcome, Score, Trajectory, prompt_digest
from evener.protocols.wire import ModelTrained, TrainRequest

BASE = ModelRef(base="b", revision="r")
HARNESS = Harness(name="h")


class Notebook:
    """A fine-tuner that writes down what it is asked to train on."""

    def __init__(self) -> None:
        self.asked: list[tuple[tuple[str, ...], str, str, Path, int]] = []

    async def train(
        self,
        trajectories: Sequence[Trajectory],
        *,
        name: str,
        serving: Harness,
        base: ModelRef,
        folder: Path,
        seed: int,
    ) -> ModelTrained:
        ids = tuple(trajectory.id for trajectory in trajectories)
        self.asked.append((ids, name, serving.name, folder, seed))
        return ModelTrained(model=None, rows=len(ids), reason="only written down")


class Shelf:
    """A store of values by digest."""

    def __init__(self, *values: Trajectory | Harness) -> None:
        self._values = {value.digest(): value for value in values}

    def get(self, kind: type[object], digest: str) -> object:
        value = self._values[digest]
        assert isinstance(value, kind)
        return value


def episode(
    number: int, *, purpose: Purpose = Purpose.COLLECT, split: Split = Split.MINE
) -> Trajectory:
    task = Task(id=f"t{number}", split=split, prompt="?")
    key = EpisodeKey(
        task=task.id,
        prompt_digest=prompt_digest(task),
        harness=HARNESS.digest(),
        model="r",
        purpose=purpose,
        seed=number,
    )
    return Trajectory(
        id=key.id(),
        key=key,
        task=task,
        model=BASE,
        messages=(),
        events=(),
        outcome=Outcome.SOLVED,
        score=Score(value=1.0, verdict="correct"),
        usage=Usage(),
    )


async def ask(episodes: Sequence[Trajectory], tuner: Notebook, name: str = "m1") -> ModelTrained:
    bus = Bus(MemoryLog())
    bus.join("trainer", Trainer(tuner, Shelf(HARNESS, *episodes), Path("models")))  # type: ignore[arg-type]
    request = TrainRequest(
        name=name,
        trajectories=tuple(e.digest() for e in episodes),
        serving_harness=HARNESS.digest(),
        base=BASE,
        seed=4,
    )
    async with bus:
        return await bus.ask("trainer", request, ModelTrained)


async def test_collect_episodes_of_the_split_mine_reach_the_fine_tuner() -> None:
    tuner, episodes = Notebook(), [episode(1), episode(2)]
    made = await ask(episodes, tuner)
    assert made.rows == 2
    ids = tuple(e.id for e in episodes)
    assert tuner.asked == [(ids, "m1", "h", Path("models/m1"), 4)]


@pytest.mark.parametrize("purpose", [p for p in Purpose if p is not Purpose.COLLECT])
async def test_episodes_of_another_purpose_are_refused_and_nothing_is_trained(
    purpose: Purpose,
) -> None:
    tuner = Notebook()
    with pytest.raises(DataError, match=f"{purpose} episode"):
        await ask([episode(1), episode(2, purpose=purpose)], tuner)
    assert tuner.asked == []


@pytest.mark.parametrize("split", [s for s in Split if s is not Split.MINE])
async def test_episodes_of_another_split_are_refused_and_nothing_is_trained(split: Split) -> None:
    tuner = Notebook()
    with pytest.raises(DataError, match=f"split {split}"):
        await ask([episode(1), episode(2, split=split)], tuner)
    assert tuner.asked == []


async def test_a_name_that_is_a_path_is_refused() -> None:
    tuner = Notebook()
    with pytest.raises(UserError, match="cannot be the name of a model"):
        await ask([episode(1)], tuner, name="../m1")
    assert tuner.asked == []
