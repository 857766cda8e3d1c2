"""The parent's side of one interpreter: sends code, reads what comes back, and ends it.

Nothing that comes back is trusted: output is cut, an answer has a fixed form, and whatever does
not fit, or does not come in time, ends the interpreter. Between calls it is halted, so that a
thread that outlives its call uses no processor.
"""

import asyncio
import json
import os
import secrets
import signal
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress

from evener.environments.sandbox.output import CHUNK, Output
from evener.environments.sandbox.port import ErrorKind, Execution
from evener.environments.sandbox.protection import Limits
from evener.protocols.error import InfraError

_KINDS: tuple[ErrorKind | None, ...] = (None, "syntax", "exception", "memory", "denied")
_STARTS_WITHIN = 60.0  # seconds; a loaded machine takes long
_IDLE = 0.02  # seconds between the end of a call and the halt
_WATCHED_AFTER = 0.002  # seconds
_PIPE = 1 << 20  # the most that a pipe is made to hold
ENDED = "[the interpreter was ended: {why}; all that was defined is gone]\n"
_WHY = {
    "timeout": "not over after {timeout:g} s",
    "output_truncated": "it printed more than {flood} bytes",
    "schema": "it wrote to the channel of results",
    "killed": "it died",
}


def _set(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


class Worker:
    """A started interpreter. It answers one call at a time and belongs to one event loop."""

    def __init__(
        self,
        channel: socket.socket,
        out: int,
        err: int,
        *,
        limits: Limits,
        ended: "Callable[[Worker], None]",
    ) -> None:
        self._channel = channel
        self._limits = limits
        self._on_end = ended
        self._out, self._err = Output(out, limits.output), Output(err, limits.output)
        self._loop = asyncio.get_running_loop()
        self._pid = 0
        self._pidfd = -1
        self._waiting: asyncio.Future[ErrorKind | None] | None = None
        self._nonce = b""
        self._halt: asyncio.TimerHandle | None = None
        self._halted = False
        self._last: ErrorKind | None = None
        self._watched: set[int] = set()
        self.alive = True
        self.report: dict[str, object] = {}

    async def ready(self) -> None:
        """Wait for its own word that it is confined. Raises InfraError where it does not come."""
        self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        came: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(self._channel, _set, came)
        try:
            await asyncio.wait_for(came, _STARTS_WITHIN)
        except TimeoutError as error:
            self.end()
            raise InfraError("an interpreter of the sandbox did not start in time") from error
        except BaseException:
            self.end()
            raise
        finally:
            if self.alive:
                self._loop.remove_reader(self._channel)
        size = struct.calcsize("3i")
        try:
            data, extra, _, _ = self._channel.recvmsg(CHUNK, socket.CMSG_SPACE(size))
        except OSError as error:
            self.end()
            raise InfraError(f"an interpreter of the sandbox did not start: {error}") from error
        self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
        self.report = json.loads(data) if data else {"failed": "it ended at once"}
        for _, kind, value in extra:
            if kind == socket.SCM_CREDENTIALS:
                # the kernel's word, in the numbers of this process's own table
                self._pid = struct.unpack("3i", value[:size])[0]
        if "failed" in self.report or not self._pid:
            self.end()
            raise InfraError(f"an interpreter of the sandbox did not start: {self.report}")
        try:
            self._pidfd = os.pidfd_open(self._pid)
        except OSError as error:
            self.end()
            raise InfraError(f"an interpreter of the sandbox is gone: {error}") from error
        self._loop.add_reader(self._channel, self._answered)

    @property
    def sound(self) -> bool:
        """Whether it can be given code; one that has died unnoticed is ended."""
        if self.alive:
            with suppress(BlockingIOError):
                # the end of the channel, or what nobody has asked for
                with suppress(ConnectionError):
                    self._channel.recv(1, socket.MSG_PEEK)
                self.end()
        return self.alive

    async def run(self, code: bytes, timeout: float) -> Execution:  # noqa: ASYNC109  the port's name
        """Run `code` for `timeout` seconds at most. The interpreter is not alive afterwards where
        it had to be ended."""
        began = time.perf_counter()
        self._resume()
        self._drain()
        self._out.clear()
        self._err.clear()
        kind: ErrorKind | None
        if not self.alive:
            kind = self._last or "killed"
        else:
            # a short call is over before anyone has to read what it prints, and saves the wake-up
            watch = self._loop.call_later(_WATCHED_AFTER, self._watch)
            self._nonce = secrets.token_bytes(16)
            self._waiting = self._loop.create_future()
            deadline = self._loop.call_later(timeout, self._finish, "timeout")
            sending = self._send(self._nonce + len(code).to_bytes(4, "big") + code)
            try:
                kind = await self._waiting
            except asyncio.CancelledError:
                self.end()
                raise
            finally:
                deadline.cancel()
                watch.cancel()
                self._waiting = None
                if sending is not None:
                    sending.cancel()
        self._drain()
        ended = not self.alive or kind in _WHY
        execution = self._execution(kind, time.perf_counter() - began, timeout, ended=ended)
        if ended:
            self.end()
        else:
            self._halt = self._loop.call_later(_IDLE, self._stop)
        return execution

    def _execution(
        self, kind: ErrorKind | None, elapsed: float, timeout: float, *, ended: bool
    ) -> Execution:
        stderr = self._err.text()
        if ended and kind is not None:
            why = _WHY[kind].format(timeout=timeout, flood=self._limits.flood)
            stderr = f"{stderr}{ENDED.format(why=why)}"
        truncated = self._out.cut or self._err.cut
        return Execution(
            stdout=self._out.text(),
            stderr=stderr,
            error_kind="output_truncated" if kind is None and truncated else kind,
            elapsed=elapsed,
            truncated=truncated,
        )

    def _send(self, request: bytes) -> asyncio.Task[None] | None:
        """All at once where the socket takes it, as it does but for the longest code."""
        try:
            sent = self._channel.send(request)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._finish("killed")
            return None
        if sent == len(request):
            return None

        async def rest() -> None:
            with suppress(OSError):
                await self._loop.sock_sendall(self._channel, request[sent:])

        return self._loop.create_task(rest())

    def _answered(self) -> None:
        """An answer, the end of the channel, or what the code has written there."""
        try:
            data = self._channel.recv(64)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._finish("killed")
        elif (
            self._waiting is not None
            and len(data) == 17
            and data[:16] == self._nonce
            and data[16] < len(_KINDS)
        ):
            self._finish(_KINDS[data[16]])
        else:
            self._finish("schema")

    def _finish(self, kind: ErrorKind | None) -> None:
        if self._waiting is None:
            self._last = kind
            self.end()
        elif not self._waiting.done():
            self._waiting.set_result(kind)

    def _watch(self) -> None:
        for stream in (self._out, self._err):
            if stream.descriptor not in self._watched:
                self._watched.add(stream.descriptor)
                self._loop.add_reader(stream.descriptor, self._printed, stream)

    def _printed(self, stream: Output) -> None:
        # between calls nobody reads: what a thread prints there fills the pipe, and is dropped
        if self._waiting is None or stream.read() == 0:
            self._watched.discard(stream.descriptor)
            self._loop.remove_reader(stream.descriptor)
        elif stream.total > self._limits.flood:
            self._finish("output_truncated")

    def _drain(self) -> None:
        """Take what was printed before the answer came; a thread that prints on is not waited
        for."""
        if self.alive:
            for stream in (self._out, self._err):
                for _ in range(_PIPE // CHUNK + 1):
                    if stream.read() <= 0:
                        break

    def _stop(self) -> None:
        self._halted = True
        self._signal(signal.SIGSTOP)

    def _resume(self) -> None:
        if self._halt is not None:
            self._halt.cancel()
            self._halt = None
        if self._halted:
            self._halted = False
            self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> bool:
        """Whether there was a process to signal."""
        try:
            signal.pidfd_send_signal(self._pidfd, number)
        except OSError:
            return False
        return True

    def end(self) -> None:
        """Kill the process and its group, and close everything. A second call does nothing."""
        if not self.alive:
            return
        self.alive = False
        if self._halt is not None:
            self._halt.cancel()
        self._loop.remove_reader(self._channel)
        for stream in (self._out, self._err):
            self._loop.remove_reader(stream.descriptor)
        if self._pidfd >= 0 and self._signal(0):
            # it is not reaped yet, so that its number is still its own
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)
            self._signal(signal.SIGKILL)
        self._channel.close()
        for stream in (self._out, self._err):
            os.close(stream.descriptor)
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result("killed")
        self._on_end(self)

    async def gone(self) -> None:
        """Wait until the process is no more."""
        if self._pidfd < 0:
            return
        over: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(self._pidfd, _set, over)
        try:
            await over
        finally:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1
