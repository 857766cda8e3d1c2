"""How a life begins: one process, started and waited for until it is ready or it is known why not.

Whatever does not become a life is gone again when this returns.
"""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from evener.agents.models.remote.address import Address
from evener.agents.models.remote.key import Key
from evener.agents.models.remote.openai import Server
from evener.agents.models.remote.price import Price
from evener.agents.models.remote.settings import Timeouts
from evener.agents.models.vllm.admin import Admin
from evener.agents.models.vllm.command import Launch
from evener.agents.models.vllm.crash import Crash, read_crash
from evener.agents.models.vllm.life import Life
from evener.agents.models.vllm.process import ServerProcess
from evener.protocols.error import InfraError

_SPEAK_S = 15.0

Proved = Callable[[Life], Awaitable[None]]
"""Looks at a life that has just begun. ModelError where it must not be used."""


@dataclass(frozen=True, kw_only=True)
class Birth:
    """`launch` says what to run, `key` what it asks of us, the rest how it is called."""

    launch: Launch
    key: Key
    timeouts: Timeouts
    price: Price
    proved: Proved | None = None

    async def life(self, number: int, *, log: Path, say: Callable[[str], None]) -> Life | Crash:
        """A life, or why there is none. ModelError where it begins and must not be used."""
        log.parent.mkdir(parents=True, exist_ok=True)
        since = _size(log)
        port = _free_port()
        process = await ServerProcess.start(
            self.launch.command(port),
            env=self.launch.environment(self.key.value()),
            cwd=log.parent,
            log=log,
        )
        life = self._made(number, port, process, since)
        lives = False
        try:
            crash = await self._until_ready(life, process, log, say)
            if crash is None:
                crash = await self._looked_at(life, process, log)
            lives = crash is None
            return crash or life
        finally:
            if not lives:
                await life.close()
                await process.stop()

    def _made(self, number: int, port: int, process: ServerProcess, since: int) -> Life:
        url = f"http://127.0.0.1:{port}"
        address = Address.of(url)
        return Life(
            number=number,
            url=url,
            client=Server(address, key=self.key, timeouts=self.timeouts, price=self.price),
            admin=Admin(address, self.key),
            process=process,
            log_from=since,
        )

    async def _until_ready(
        self, life: Life, process: ServerProcess, log: Path, say: Callable[[str], None]
    ) -> Crash | None:
        """None once it says that it can answer."""
        name, longest = self.launch.name, self.launch.settings.start_s
        say(f"vLLM loads {name} (a minute or more; its log: {log})")
        loop = asyncio.get_running_loop()
        began = spoken = loop.time()
        ended = asyncio.ensure_future(process.wait())
        try:
            while not ended.done():
                if await life.admin.healthy():
                    say(f"vLLM serves {name} after {loop.time() - began:.0f} s")
                    return None
                if loop.time() - began > longest:
                    last = read_crash(None, log, since=life.log_from).last
                    detail = f"it was not ready after {longest:g} s"
                    return Crash(kind="slow", detail=detail, last=last)
                if loop.time() - spoken >= _SPEAK_S:
                    spoken = loop.time()
                    say(f"  vLLM is loading: {spoken - began:.0f} s")
                await asyncio.wait({ended}, timeout=0.5)
            return read_crash(ended.result(), log, since=life.log_from)
        finally:
            ended.cancel()

    async def _looked_at(self, life: Life, process: ServerProcess, log: Path) -> Crash | None:
        """None where it is what it should be; a crash where it went meanwhile."""
        if self.proved is None:
            return None
        try:
            await self.proved(life)
        except InfraError as error:
            try:
                code = await asyncio.wait_for(process.wait(), life.late_s)
            except TimeoutError:
                return Crash(kind="unknown", detail=str(error))
            return read_crash(code, log, since=life.log_from)
        return None


def _size(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


def _free_port() -> int:
    with contextlib.closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
