"""Right solutions of the tasks that are collected on: of those, and of no other task.

A teacher and a reviewer that knows the answer read them. They are controls; no student that is
measured under its own name sees one.
"""

from collections.abc import Sequence

from evener.protocols.digest import digest
from evener.protocols.error import DataError
from evener.protocols.message import Call
from evener.protocols.port import Auditable, Environment
from evener.protocols.task import Split, Task


class Gold:
    """Plans in the environment's own actions, by the prompt of their task.

    Raises DataError for a task of another split than `mine`, before any plan is read.
    """

    def __init__(self, environment: Environment, audit: Auditable, tasks: Sequence[Task]) -> None:
        for task in tasks:
            if task.split is not Split.MINE:
                raise DataError(
                    f"the solution of a task of the split {task.split} is not to be read",
                    where=f"task {task.id}",
                    remedy="teachers and reviewers that know the answer take `mine` only",
                )
        self.environment = environment
        self.tasks = {task.prompt: task for task in tasks}
        self._plans = {task.prompt: tuple(audit.gold(task)) for task in tasks}

    @property
    def digest(self) -> str:
        """Over the environment, all tasks and their plans."""
        return digest(
            {
                "environment": self.environment.digest,
                "plans": {
                    prompt: [call.document() for call in calls]
                    for prompt, calls in self._plans.items()
                },
            }
        )

    def plan(self, prompt: str) -> tuple[Call, ...]:
        """The actions that solve the task. Raises DataError for a task that was not drawn."""
        if prompt not in self._plans:
            raise DataError(
                "no right solution was read of this task",
                where=f"task {prompt[:60]!r}",
                remedy="only the tasks of `mine` that are collected on have one",
            )
        return self._plans[prompt]


def gold_of(environment: Environment, tasks: Sequence[Task]) -> Gold | None:
    """The plans of the tasks; None where the environment replays no right solution."""
    return Gold(environment, environment, tasks) if isinstance(environment, Auditable) else None
