"""One process a run: an operating-system lock, which the death of its holder releases.

The lock is `flock` on the file `lock`; pid and host inside only tell people who holds it. POSIX
only: there is no Windows version.
"""

import fcntl
import json
import os
import socket
import time
import weakref
from pathlib import Path
from typing import Self

from evener.protocols.error import RunError

TRIES, PAUSE_S = 5, 0.05  # a reader that looks whether the lock is held has it for microseconds


class Lock:
    """Holds the lock of a run folder until `release`."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path = path
        self._handle: int | None = handle
        _held.add(self)

    @classmethod
    def acquire(cls, path: Path) -> Self:
        """Take the lock. Raises RunError with pid and host of the process that has it."""
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise RunError(
                f"the lock cannot be opened: {error.strerror}",
                where=str(path),
                remedy="move what is there, or give another folder with --out",
            ) from None
        for left in range(TRIES, 0, -1):
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if left == 1:
                    holder = _holder(handle)
                    os.close(handle)
                    raise RunError(
                        f"in use by {holder}",
                        where=str(path.parent),
                        remedy="wait for it, stop it, or give another folder",
                    ) from None
                time.sleep(PAUSE_S)
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps({"pid": os.getpid(), "host": _host()}).encode() + b"\n", 0)
        return cls(path, handle)

    def release(self) -> None:
        """Give it back. The file stays: removing it would let two processes lock two files."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def held(path: Path) -> bool:
    """Whether some process holds the lock now."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(handle)


def _holder(handle: int) -> str:
    try:
        found = json.loads(os.pread(handle, 4096, 0))
        return f"process {int(found['pid'])} on {found['host']}"
    except (ValueError, KeyError, TypeError):
        return "another process"


def _host() -> str:
    return socket.gethostname()


# A forked child shares the open file and with it the lock, and would keep it alive after the
# parent's death: it closes its copy at once.
_held: weakref.WeakSet[Lock] = weakref.WeakSet()


def _let_go() -> None:
    for lock in list(_held):
        lock.release()


os.register_at_fork(after_in_child=_let_go)
