"""A program of the user's, run once: in a process group of its own, for a limited time, its words
in a log. However it ends, and however this process ends, nothing of the group is left behind.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

from evener.protocols.error import ModelError

GRACE_S = 10.0
"""Seconds between asking the group to end and killing it."""
_GUARD = "guard.py"
_PIECE = 1 << 16
_LAST = 200


class CommandLog:
    """The log of a command, written line by line through `hide`."""

    def __init__(self, path: Path, hide: Callable[[str], str]) -> None:
        self._last = ""
        self._hide = hide
        self._sink = path.open("a", encoding="utf-8", errors="replace")
        self._rest = b""

    def hear(self, piece: bytes) -> None:
        """Write the lines that are whole; a line without an end is not waited for for ever."""
        lines = (self._rest + piece).replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > _PIECE:
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            self._hear_line(line)

    def write(self, line: str) -> str:
        """Add a line and return it as it was written."""
        text = self._hide(line)
        self._sink.write(f"{text}\n")
        self._sink.flush()
        return text

    def close(self) -> None:
        """Write what is left."""
        if self._rest:
            self._hear_line(self._rest)
        self._sink.close()

    def said(self) -> str:
        """The command's last line, for an error."""
        line = "".join(c if c.isprintable() else " " for c in self._last)
        return line[:_LAST] or "it said nothing"

    def _hear_line(self, line: bytes) -> None:
        self._last = self.write(line.decode("utf-8", "replace")).strip() or self._last


async def run(
    command: Sequence[str],
    log: Path,
    *,
    limit_s: float,
    hide: Callable[[str], str],
    where: str,
) -> None:
    """Run it to its end; what it writes is added to `log`. Cancelling ends the whole group.

    Raises ModelError where it cannot be started, fails, or takes longer than `limit_s` seconds.
    """
    program = shutil.which(command[0])
    if program is None:
        raise ModelError(
            f"no program {command[0]!r}", where=where, remedy="give its path, or correct PATH"
        )
    talk = CommandLog(log, hide)
    try:
        talk.write(f"$ {' '.join(command)}")
        try:
            async with asyncio.timeout(limit_s):
                code = await _ended((program, *command[1:]), talk)
        except TimeoutError:
            talk.write(f"ended after {limit_s:g} s")
            raise ModelError(
                f"the command took longer than {limit_s:g} s and was ended",
                where=where,
                remedy=f"raise external.time_limit_s; what it said is in {log}",
            ) from None
        if code != 0:
            how = f"was killed by signal {-code}" if code < 0 else f"ended with {code}"
            raise ModelError(
                f"the command {how}: {talk.said()}", where=where, remedy=f"its words are in {log}"
            )
    finally:
        talk.close()


async def _ended(command: Sequence[str], talk: CommandLog) -> int:
    """The exit status, negative for a signal, once nothing of the group is left."""
    guard = str(files("evener.agents.models.vllm") / _GUARD)
    reading, writing = os.pipe()
    listening = asyncio.create_task(_listen(reading, talk))
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", guard, str(GRACE_S), *command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=writing,
        )
    finally:
        os.close(writing)
    assert process.stdin is not None
    assert process.stdout is not None
    told = bytearray()
    try:
        # its process id, and at the end its status
        while piece := await process.stdout.read(64):
            told += piece
    finally:
        # the guard ends the group when nobody holds its input any more
        process.stdin.close()
        await _over(process, told)
        with contextlib.suppress(TimeoutError):
            # what left the group may hold the pipe for ever
            await asyncio.wait_for(listening, GRACE_S / 2)
    numbers = told.split()
    if len(numbers) != 2:
        raise ModelError(f"the command cannot be run: {talk.said()}", where=command[0])
    return int(numbers[1])


async def _over(guard: asyncio.subprocess.Process, told: bytearray) -> None:
    """Wait for the guard; one that is stuck or was killed no longer looks after the group."""
    try:
        await asyncio.wait_for(guard.wait(), 2 * GRACE_S)
    except TimeoutError:
        guard.kill()
        await guard.wait()
    if guard.returncode != 0 and told:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(int(told.split()[0]), signal.SIGKILL)


async def _listen(reading: int, talk: CommandLog) -> None:
    """Write down what comes out of a pipe until nobody writes into it any more."""
    stream = asyncio.StreamReader()
    pipe = os.fdopen(reading, "rb", buffering=0)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), pipe)
    try:
        while piece := await stream.read(_PIECE):
            talk.hear(piece)
    finally:
        transport.close()
