"""A problem with its hidden answer, and where problems come from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from evener.protocols.task import Split, Task


@dataclass(frozen=True)
class Problem:
    """`place` names file and line, for messages; `program` prints the answer, where one is known.
    The text is as it stands in its source, code of figures included."""

    id: str
    split: Split
    kind: str
    prompt: str
    answer: str
    place: str = ""
    program: str | None = None

    def task(self) -> Task:
        """The public side."""
        return Task(id=self.id, split=self.split, kind=self.kind, prompt=self.prompt)


class ProblemSet(Protocol):
    """Problems by split. Equal draws are equal."""

    @property
    def digest(self) -> str:
        """Of the problems and their answers, or of what makes them."""
        ...

    def draw(self, split: Split, *, count: int, seed: int) -> Sequence[Problem]:
        """`count` problems. Raises DataError where there are too few."""
        ...

    def find(self, task: Task) -> Problem:
        """The problem of a task. Raises DataError where it is not one of these."""
        ...
