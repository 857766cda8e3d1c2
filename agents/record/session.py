"""The sessions of a run: one for each time it was started, and the CPU-seconds each has used.

A session whose process died stays `running` in the file until the next one, which holds the lock
and so knows better, calls it `interrupted`.
"""

import os
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias

from evener.agents.record.schema import Database
from evener.agents.record.usage import process_cpu_seconds
from evener.protocols.error import RunError

State: TypeAlias = Literal["running", "interrupted", "finished", "budget"]
BEAT_S = 10.0  # what a SIGKILL can lose of the CPU-seconds

_attributed = 0.0  # CPU-seconds of this process that an earlier session of it has counted


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session: Unix times, the process, and the CPU-seconds of its tree."""

    id: int
    state: State
    started: float
    beat: float
    pid: int
    host: str
    cpu_seconds: float


class Session:
    """The session of this process. A thread writes its CPU-seconds every `BEAT_S` seconds."""

    def __init__(self, database: Database, *, beat_s: float = BEAT_S) -> None:
        self._database = database
        self._state: State = "interrupted"
        self._before = _attributed
        now = time.time()
        with database.transaction():
            database.rows("UPDATE sessions SET state = 'interrupted' WHERE state = 'running'")
            self.earlier = float(
                database.rows("SELECT coalesce(sum(cpu_seconds), 0) FROM sessions")[0][0]
            )
            self.id = int(
                database.rows(
                    "INSERT INTO sessions (state, started, beat, pid, host, cpu_seconds) "
                    "VALUES ('running', ?, ?, ?, ?, ?) RETURNING id",
                    (now, now, os.getpid(), socket.gethostname(), self._own()),
                )[0][0]
            )
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, args=(beat_s,), daemon=True)
        self._thread.start()

    def cpu_seconds(self) -> float:
        """Of the whole run so far: all sessions, and the process tree of this one."""
        return self.earlier + self._own()

    def end_as(self, state: Literal["finished", "budget"]) -> None:
        """How the session will have ended; without this it was interrupted."""
        self._state = state

    def close(self) -> None:
        """Write the end."""
        global _attributed
        self._over.set()
        self._thread.join()
        try:
            self._write(self._state)
        finally:
            _attributed = process_cpu_seconds()

    def _own(self) -> float:
        return process_cpu_seconds() - self._before

    def _beat(self, beat_s: float) -> None:
        while not self._over.wait(beat_s):
            with suppress(RunError):  # a full disk is reported by whoever writes next
                self._write("running")

    def _write(self, state: State) -> None:
        self._database.rows(
            "UPDATE sessions SET state = ?, beat = ?, cpu_seconds = ? WHERE id = ?",
            (state, time.time(), self._own(), self.id),
        )


def sessions(database: Database) -> tuple[SessionRow, ...]:
    """All sessions, oldest first."""
    return tuple(
        SessionRow(*row)
        for row in database.rows(
            "SELECT id, state, started, beat, pid, host, cpu_seconds FROM sessions ORDER BY id"
        )
    )
