"""A vLLM server of our own: started when first needed, watched, started again, never left behind.

At most one process lives at a time. Whoever was waiting when it went gets an InfraError, and
whoever comes next has it started again, up to a number of times; each step is in the run's log.
"""

import asyncio
import contextlib
import os
import secrets
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from evener.agents.models.local.progress import say
from evener.agents.models.local.store import cache_root
from evener.agents.models.remote.address import Address
from evener.agents.models.remote.key import Key
from evener.agents.models.remote.model import Journal
from evener.agents.models.remote.openai import Server
from evener.agents.models.remote.price import Price
from evener.agents.models.remote.settings import Timeouts
from evener.agents.models.vllm.admin import Admin
from evener.agents.models.vllm.command import Launch
from evener.agents.models.vllm.crash import Crash, read_crash
from evener.agents.models.vllm.life import Life
from evener.agents.models.vllm.process import ServerProcess
from evener.protocols.digest import JsonObject
from evener.protocols.error import InfraError, ModelError

EVENT = "server"
"""The kind of its log entries."""
_PORTS = 3
_SPEAK_S = 15.0
_LOOK_S = 5.0


@dataclass(frozen=True)
class Secret(Key):
    """A key that was made up for one server and stands in no variable of ours."""

    secret: str = ""

    def value(self) -> str:
        """The key."""
        return self.secret


class ManagedServer:
    """`launch` says what to run. `proved` looks at a life that has just begun, and raises
    ModelError where it must not be used."""

    def __init__(
        self,
        launch: Launch,
        *,
        timeouts: Timeouts,
        price: Price,
        proved: Callable[[Life], Awaitable[None]] | None = None,
    ) -> None:
        self.launch = launch
        self.life: Life | None = None
        self.say: Callable[[str], None] = say
        self.starts = 0
        """How often it was started."""
        self.process: ServerProcess | None = None
        self._timeouts = timeouts
        self._price = price
        self._proved = proved
        self._settings = launch.settings
        self._secret = Secret(secret=secrets.token_urlsafe(24))
        self._folder: Path | None = None
        self._journal: Journal | None = None
        self._beginning: asyncio.Task[Life] | None = None
        self._minding: asyncio.Task[None] | None = None
        self._refused: ModelError | None = None
        self._closed = False

    @property
    def log(self) -> Path:
        """Where the server writes: in the run's folder, or the cache where there is no run."""
        if self._folder is not None:
            return self._folder / "server.log"
        return cache_root() / "vllm" / f"server-{os.getpid()}.log"

    def keep(self, folder: Path, journal: Journal) -> None:
        """From now on the log is in this folder, and what becomes of the server in that journal."""
        self._folder = folder
        self._journal = journal

    async def check(self) -> None:
        """Whether there is an interpreter with vLLM. ModelError if not."""
        await asyncio.to_thread(self.launch.check)

    async def up(self) -> Life:
        """The life there is, or the next one. Everybody who waits for one waits for the same."""
        if self._is_closed():
            raise _closed()
        if self._refused is not None:
            raise self._refused
        if self.life is not None and not self.life.gone.done():
            return self.life
        if self._beginning is None:
            self._beginning = asyncio.create_task(self._begin())
            self._beginning.add_done_callback(self._begun)
        try:
            return await asyncio.shield(self._beginning)
        except asyncio.CancelledError:
            current = asyncio.current_task()
            ours = current is not None and current.cancelling() > 0
            if self._is_closed() and not ours:
                raise _closed() from None
            raise

    async def close(self) -> None:
        """End it; nothing of it is left."""
        self._closed = True
        for task in (self._beginning, self._minding):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if self.life is not None:
            if not self.life.gone.done():
                self._note("stopped", {"life": self.life.number})
            await self.life.close()
        if self.process is not None:
            await self.process.stop()
        if self._folder is None and self._refused is None and self.starts:
            self.log.unlink(missing_ok=True)

    def _is_closed(self) -> bool:
        return self._closed

    def _begun(self, task: "asyncio.Task[Life]") -> None:
        self._beginning = None
        if not task.cancelled():
            task.exception()

    async def _begin(self) -> Life:
        """Start until there is a life, or nothing is left to try."""
        before = self.life.gone.result() if self.life is not None else None
        ports = 0
        while True:
            if before is not None:
                if self.starts > self._settings.restarts:
                    self._refused = self._given_up(before)
                    raise self._refused
                self.say("the vLLM server is started again")
            try:
                made = await self._start()
            except ModelError as error:
                self._refused = error
                raise
            if isinstance(made, Life):
                self.life = made
                self._minding = asyncio.create_task(self._mind(made))
                return made
            self._note("died", {"life": self.starts, **made.body()})
            if made.kind == "port" and ports < _PORTS:
                ports += 1
                continue
            if before is None:
                self._refused = self._not_started(made)
                raise self._refused
            before = made

    async def _start(self) -> Life | Crash:
        """One process, until it is ready or it is known why not."""
        self.starts += 1
        log = self.log
        log.parent.mkdir(parents=True, exist_ok=True)
        since = log.stat().st_size if log.exists() else 0
        port = _free_port()
        self._note("starting", {"life": self.starts, "port": port})
        command = self.launch.command(port)
        env = self.launch.environment(self._secret.value())
        self.process = process = await ServerProcess.start(
            command, env=env, cwd=log.parent, log=log
        )
        ready = False
        life = self._life(self.starts, port)
        try:
            code = await self._until_ready(process, life)
            if code is not None:
                return read_crash(code, log, since=since)
            crash = await self._look_at(process, life, since)
            if crash is not None:
                return crash
            version = await life.admin.version()
            self._note("ready", {"life": life.number, "pid": process.pid, "vllm": version})
            ready = True
            life.log_from = since
            return life
        except _Slow:
            detail = f"it was not ready after {self._settings.start_s:g} s"
            last = read_crash(None, log, since=since).last
            return Crash(kind="slow", detail=detail, last=last)
        finally:
            if not ready:
                await life.close()
                await process.stop()

    def _life(self, number: int, port: int) -> Life:
        url = f"http://127.0.0.1:{port}"
        address = Address.of(url)
        client = Server(address, key=self._secret, timeouts=self._timeouts, price=self._price)
        return Life(number=number, url=url, client=client, admin=Admin(address, self._secret))

    async def _until_ready(self, process: ServerProcess, life: Life) -> int | None:
        """None once it answers, its exit status where it ended before. Raises _Slow."""
        name = self.launch.name
        self.say(f"vLLM loads {name} (a minute or more; its log: {self.log})")
        loop = asyncio.get_running_loop()
        began = spoken = loop.time()
        ended = asyncio.ensure_future(process.wait())
        try:
            while not ended.done():
                if await life.admin.healthy():
                    self.say(f"vLLM serves {name} after {loop.time() - began:.0f} s")
                    return None
                if loop.time() - began > self._settings.start_s:
                    raise _Slow
                if loop.time() - spoken >= _SPEAK_S:
                    spoken = loop.time()
                    self.say(f"  vLLM is loading: {spoken - began:.0f} s")
                await asyncio.wait({ended}, timeout=0.5)
            return ended.result()
        finally:
            ended.cancel()

    async def _look_at(self, process: ServerProcess, life: Life, since: int) -> Crash | None:
        """Whether a life that has just begun is what it should be. ModelError where it is not; a
        crash where it went meanwhile."""
        if self._proved is None:
            return None
        try:
            await self._proved(life)
        except InfraError as error:
            try:
                code = await asyncio.wait_for(process.wait(), life.late_s)
            except TimeoutError:
                return Crash(kind="unknown", detail=str(error))
            return read_crash(code, self.log, since=since)
        return None

    async def _mind(self, life: Life) -> None:
        """Watch a life to its end, and say why it ended."""
        process = self.process
        assert process is not None
        ended = asyncio.ensure_future(process.wait())
        silent = asyncio.ensure_future(self._until_silent(life))
        try:
            await asyncio.wait({ended, silent}, return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                crash = read_crash(ended.result(), self.log, since=life.log_from)
            else:
                seconds = self._settings.silence_s
                last = read_crash(None, self.log, since=life.log_from).last
                detail = f"for {seconds:g} s it answered nothing and computed nothing"
                crash = Crash(kind="hung", detail=detail, last=last)
                process.kill()
                await ended
        finally:
            for task in (ended, silent):
                task.cancel()
        event = "hung" if crash.kind == "hung" else "died"
        self._note(event, {"life": life.number, **crash.body()})
        self.say(f"the vLLM server is gone ({crash.kind}): {crash.detail}")
        life.gone.set_result(crash)
        await life.close()

    async def _until_silent(self, life: Life) -> None:
        """Come back when the server has shown no sign of life for too long: no token and no reply
        while requests wait, or no answer at all."""
        loop = asyncio.get_running_loop()
        seen, last = "", loop.time()
        while loop.time() - last <= self._settings.silence_s:
            await asyncio.sleep(min(_LOOK_S, self._settings.silence_s / 4))
            pulse = await life.admin.pulse()
            if pulse is None:
                continue
            now = f"{pulse} {life.answered}"
            if now != seen or not life.busy:
                seen, last = now, loop.time()

    def _not_started(self, crash: Crash) -> ModelError:
        return ModelError(
            f"the vLLM server does not start ({crash.kind}): {crash.detail}",
            where=str(self.log),
            remedy=crash.remedy,
        )

    def _given_up(self, crash: Crash) -> ModelError:
        return ModelError(
            f"the vLLM server was started {self.starts} times and is gone again ({crash.kind}): "
            f"{crash.detail}",
            where=str(self.log),
            remedy=crash.remedy or "see its log; the same command goes on from here",
        )

    def _note(self, event: str, body: JsonObject) -> None:
        if self._journal is not None:
            self._journal.append(EVENT, {"event": event, **body})


class _Slow(Exception):
    """It is not ready in time."""


def _free_port() -> int:
    with contextlib.closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _closed() -> InfraError:
    return InfraError("the vLLM server is closed", kind="closed")
