"""A few worker processes that are kept, and replaced as soon as one is lost.

A question waits for a worker, not for its turn behind a question that hangs. The pool has as many
workers after any question as before it.
"""

import queue
import weakref

from evener.environments.scoring.process import Lost, Worker
from evener.protocols.error import InfraError

DEADLINE_S = 3.0
SIZE = 2


class Pool:
    """For any number of threads. Processes start with the first question."""

    def __init__(self, size: int = SIZE, *, deadline_s: float = DEADLINE_S) -> None:
        self.size = size
        self.deadline_s = deadline_s
        self.replaced = 0
        self._idle: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        for _ in range(size):
            self._idle.put(None)
        self._alive: set[Worker] = set()
        self._closed = False
        self._end = weakref.finalize(self, _kill_all, self._alive)

    def ask(self, pairs: list[tuple[str, str]]) -> tuple[list[bool] | None, str | None]:
        """(equal or not for each (gold, answer), None), or (None, why it cannot be said).

        Raises ConfigError without a math-verify that rules rightly, InfraError where no worker
        starts or the pool is closed.
        """
        worker = self._idle.get()
        kept: Worker | None = None
        try:
            if self._closed:
                raise InfraError("the scoring pool is closed", kind="scorer")
            kept = worker or self._started()
            told = kept.ask(pairs, deadline_s=self.deadline_s)
            if told.get("error") == "memory":
                raise Lost("memory")
            if "error" in told:
                return None, str(told["error"])
            return list(told["equal"]), None
        except Lost as lost:
            kept = self._replaced(kept)
            return None, lost.kind
        except BaseException:
            self._drop(kept)
            kept = None
            raise
        finally:
            self._idle.put(kept)

    def pids(self) -> tuple[int, ...]:
        """Of the processes there are now."""
        return tuple(sorted(worker.pid for worker in self._alive))

    def close(self) -> None:
        """End all processes; a question that is being asked fails."""
        self._closed = True
        self._end()

    def _started(self) -> Worker:
        worker = Worker()
        self._alive.add(worker)
        return worker

    def _replaced(self, lost: Worker | None) -> Worker | None:
        """A fresh worker, which loads its libraries while nobody waits for it."""
        self._drop(lost)
        self.replaced += 1
        return None if self._closed else self._started()

    def _drop(self, worker: Worker | None) -> None:
        if worker is not None:
            self._alive.discard(worker)
            worker.kill()


def _kill_all(alive: set[Worker]) -> None:
    while alive:
        alive.pop().kill()
