"""Episodes that were never run, and a store that has them."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import pytest

from evener.protocols.digest import JsonObject, Wire
from evener.protocols.event import Event
from evener.protocols.model import ModelRef, Usage
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Outcome, Score, Trajectory

T = TypeVar("T", bound=Wire)


def episode(task: str, outcome: Outcome, *events: Event, attempt: int = 0) -> Trajectory:
    value = {Outcome.SOLVED: 1.0, Outcome.INFRA: None}.get(outcome, 0.0)
    key = EpisodeKey(
        task=task, prompt_digest="p", harness="h", model="r", purpose=Purpose.EVALUATE, seed=0,
        attempt=attempt,
    )  # fmt: skip
    return Trajectory(
        id=key.id(),
        key=key,
        task=Task(id=task, split=Split.TEST, prompt="?"),
        model=ModelRef(base="m", revision="r"),
        messages=(),
        events=events,
        outcome=outcome,
        score=Score(value=value, verdict="error" if value is None else "correct"),
        usage=Usage(calls=2, cached_calls=1, completion_tokens=5),
    )


class Shelf:
    """Trajectories by digest."""

    def __init__(self) -> None:
        self.values: dict[str, Wire] = {}

    def put(self, value: Wire) -> str:
        self.values[value.digest()] = value
        return value.digest()

    def get(self, kind: type[T], digest: str) -> T:
        found = self.values[digest]
        assert isinstance(found, kind)
        return found

    def finished(self, key: EpisodeKey) -> str | None:
        return None

    def finish(self, trajectory: Trajectory) -> str:
        return self.put(trajectory)


class Logged(NamedTuple):
    shelf: Shelf
    cell: Callable[..., JsonObject]


@pytest.fixture
def logged() -> Logged:
    """A store, and `cell` entries whose tasks were solved or not as a string of + and - says."""
    shelf = Shelf()

    def cell(name: str, pattern: str, *, split: str = "test", spent: int = 0) -> JsonObject:
        made = [
            episode(f"{i}", Outcome.SOLVED if sign == "+" else Outcome.FAILED, attempt=len(name))
            for i, sign in enumerate(pattern)
        ]
        more = [episode("0", Outcome.FAILED, attempt=100 + i) for i in range(spent)]
        model, _, harness = name.partition("+")
        body: JsonObject = {
            "name": name, "model": model, "harness": harness, "split": split, "seed": 0,
            "episodes": [shelf.put(one) for one in made], "cpu_seconds": 1.5,
        }  # fmt: skip
        if spent:
            body["spent"] = [shelf.put(one) for one in (*made, *more)]
        return body

    return Logged(shelf, cell)


@pytest.fixture
def new_episode() -> Callable[..., Trajectory]:
    return episode
