"""One episode from the first prompt to the score: immutable, and stored by its content hash."""

from enum import StrEnum
from typing import Literal

from evener.protocols.digest import Wire, digest
from evener.protocols.event import Event
from evener.protocols.message import Message
from evener.protocols.model import ModelRef, Usage
from evener.protocols.task import Purpose, Task


class Outcome(StrEnum):
    """`infra` has no reward and reaches neither critic nor trainer."""

    SOLVED = "solved"
    FAILED = "failed"
    TRUNCATED = "truncated"
    INFRA = "infra"


class Score(Wire):
    """The environment's word on an episode. `value` in 0…1, or None where it cannot say."""

    value: float | None
    verdict: Literal["correct", "incorrect", "error"]
    parts: dict[str, float] = {}
    error_kind: str | None = None


class EpisodeKey(Wire):
    """What makes an episode the same one: run again with an equal key, it is not run again."""

    task: str
    prompt_digest: str
    harness: str
    model: str
    purpose: Purpose
    seed: int
    attempt: int = 0
    temperature: float = 0.0
    review: str = ""

    def id(self) -> str:
        """24 hex digits."""
        return self.digest()[:24]


class Trajectory(Wire):
    """`messages` are all messages of the episode, in the order they came to be; what the model was
    shown at each turn are the indices in `Replied.context`.

    A wrong answer is `failed`; out of turns or cut by a limit is `truncated` unless the
    environment's state is correct all the same.
    """

    id: str
    key: EpisodeKey
    task: Task
    model: ModelRef
    messages: tuple[Message, ...]
    events: tuple[Event, ...]
    outcome: Outcome
    score: Score
    usage: Usage

    @property
    def reward(self) -> float | None:
        """The score's value; None for `infra`, whatever the score says."""
        return None if self.outcome is Outcome.INFRA else self.score.value

    @property
    def solved(self) -> bool:
        """Whether the verifier accepted the episode."""
        return self.outcome is Outcome.SOLVED


def prompt_digest(task: Task) -> str:
    """Digest of the task's public text: a task that changed under the same id is another task."""
    return digest({"id": task.id, "prompt": task.prompt})[:16]
