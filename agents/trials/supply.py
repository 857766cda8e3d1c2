"""Fresh tasks of one split for one trial, a few at a time.

No task comes twice in a round. Where a finite split has no more, further rounds may give its tasks
again (`repeats`), each with the number of its round, so that the pairs can be clustered by task.
"""

from collections.abc import Sequence
from typing import NamedTuple

from evener.protocols.error import DataError
from evener.protocols.port import Environment
from evener.protocols.task import Split, Task


class Draw(NamedTuple):
    """A task, and how often it was drawn before in this trial."""

    task: Task
    repeat: int


def up_to(environment: Environment, split: Split, *, count: int, seed: int) -> list[Task]:
    """`count` tasks of a split, or all that it has where those are fewer. Raises DataError where it
    has none at all."""
    return [draw.task for draw in Supply(environment, split, seed=seed).take(count)]


class Supply:
    """Draws of one split; equal seeds give equal draws in whatever portions they are taken."""

    def __init__(
        self, environment: Environment, split: Split, *, seed: int, repeats: int = 0
    ) -> None:
        self._environment = environment
        self._split = split
        self._seed = seed
        self._repeats = repeats
        self._tasks: list[Task] = []
        self._given = 0
        self._finite = False

    def take(self, count: int) -> list[Draw]:
        """The next `count` draws; fewer where the split has no more. Raises DataError where it has
        none at all."""
        while not self._finite and (missing := self._given + count - len(self._tasks)) > 0:
            self._extend(missing)
        if count > 0 and not self._tasks:
            self._environment.tasks(self._split, count=1, seed=self._seed)
        rounds = (1 + self._repeats) if self._finite else 1
        end = min(self._given + count, rounds * len(self._tasks))
        size = max(1, len(self._tasks))
        drawn = [Draw(self._tasks[at % size], at // size) for at in range(self._given, end)]
        self._given = end
        return drawn

    def _extend(self, missing: int) -> None:
        """Ask for all tasks so far and `missing` more: whatever order the environment gives them
        in, so many of them are new."""
        wanted = len(self._tasks) + missing
        drawn = self._draw(wanted)
        if drawn is None:
            self._finite = True
            drawn = self._largest(len(self._tasks), wanted)
        known = {task.id for task in self._tasks}
        new = [task for task in {t.id: t for t in drawn}.values() if task.id not in known]
        self._tasks += new[:missing]
        self._finite = self._finite or not new

    def _draw(self, count: int) -> Sequence[Task] | None:
        if count < 1:
            return ()
        try:
            return self._environment.tasks(self._split, count=count, seed=self._seed)
        except DataError:
            return None

    def _largest(self, enough: int, too_many: int) -> Sequence[Task]:
        """The largest draw that the split still gives, by bisection."""
        best = self._draw(enough) or ()
        while too_many - enough > 1:
            middle = (enough + too_many) // 2
            drawn = self._draw(middle)
            if drawn is None:
                too_many = middle
            else:
                enough, best = middle, drawn
        return best
