"""One server process, in a process group of its own under a guard that outlives nobody."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from evener.protocols.error import InfraError

_GUARD = Path(__file__).with_name("guard.py")
GRACE_S = 10.0
"""Seconds between asking a server to end and killing it."""


class ServerProcess:
    """A server that runs, or ran. `pid` is its own, which is that of its group too."""

    def __init__(self, guard: asyncio.subprocess.Process, pid: int) -> None:
        self.pid = pid
        self._guard = guard
        self._ended = asyncio.ensure_future(self._until_over())

    @classmethod
    async def start(
        cls, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path
    ) -> "ServerProcess":
        """Start it; what it writes is added to `log`. InfraError where that cannot be done."""
        with log.open("ab") as sink:
            guard = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", str(_GUARD), str(GRACE_S), *command),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=sink,
                env=dict(env),
                cwd=cwd,
            )
        assert guard.stdout is not None
        try:
            line = await guard.stdout.readline()
        except BaseException:
            _close(guard)
            raise
        if not line.strip().isdigit():
            _close(guard)
            await guard.wait()
            raise InfraError(f"the server cannot be run: {command[0]}", kind="server_died")
        return cls(guard, int(line))

    async def wait(self) -> int:
        """Its exit status, negative for a signal, once nothing of its group is left."""
        return await asyncio.shield(self._ended)

    def kill(self) -> None:
        """End all of it at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    async def stop(self) -> None:
        """Ask it to end, and see to it that it does."""
        _close(self._guard)
        try:
            await asyncio.wait_for(self.wait(), 2 * GRACE_S)
        except TimeoutError:
            self.kill()
            with contextlib.suppress(ProcessLookupError):
                self._guard.kill()
            await self.wait()

    async def _until_over(self) -> int:
        assert self._guard.stdout is not None
        line = await self._guard.stdout.readline()
        if not line.strip():
            # the guard was killed, and nobody else looks after the group
            self.kill()
        await self._guard.wait()
        _close(self._guard)
        return int(line) if line.strip() else -signal.SIGKILL


def _close(guard: asyncio.subprocess.Process) -> None:
    """Tell the guard that nobody needs the server any more."""
    assert guard.stdin is not None
    guard.stdin.close()
