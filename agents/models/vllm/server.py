"""A vLLM server of our own: started when first needed, watched, started again, never left behind.

At most one process lives at a time. Whoever was waiting when it went gets an InfraError, and
whoever comes next has it started again, up to a number of times; each step is in the run's log.
"""

import asyncio
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evener.agents.models.local.progress import say
from evener.agents.models.local.store import cache_root
from evener.agents.models.remote.key import Key
from evener.agents.models.remote.model import Journal
from evener.agents.models.remote.price import Price
from evener.agents.models.remote.settings import Timeouts
from evener.agents.models.vllm.birth import Birth, Proved
from evener.agents.models.vllm.command import Launch
from evener.agents.models.vllm.crash import Crash
from evener.agents.models.vllm.life import Life
from evener.agents.models.vllm.watch import until_over
from evener.protocols.digest import JsonObject
from evener.protocols.error import InfraError, ModelError

EVENT = "server"
"""The kind of its log entries."""
_PORTS = 3


@dataclass(frozen=True)
class Secret(Key):
    """A key that was made up for one server and stands in no variable of ours."""

    secret: str = ""

    def value(self) -> str:
        """The key."""
        return self.secret


class ManagedServer:
    """`launch` says what to run, `proved` what is looked at before a life is used."""

    def __init__(
        self, launch: Launch, *, timeouts: Timeouts, price: Price, proved: Proved | None = None
    ) -> None:
        self.launch = launch
        self.life: Life | None = None
        self.say: Callable[[str], None] = say
        self.starts = 0
        """How often it was started."""
        self.key = Secret(secret=secrets.token_urlsafe(24))
        self._birth = Birth(
            launch=launch, key=self.key, timeouts=timeouts, price=price, proved=proved
        )
        self._settings = launch.settings
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
        self._folder, self._journal = folder, journal

    def release(self) -> None:
        """The journal is about to close."""
        self._journal = None

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
        life = self.life
        if life is not None:
            await life.close()
            if life.process is not None:
                await life.process.stop()
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
        try:
            return await self._tried()
        except ModelError as error:
            self._refused = error
            raise

    async def _tried(self) -> Life:
        before = self.life.gone.result() if self.life is not None else None
        ports = 0
        while True:
            if before is not None:
                if self.starts > self._settings.restarts:
                    raise self._given_up(before)
                self.say("the vLLM server is started again")
            self.starts += 1
            self._note("starting", {"life": self.starts})
            made = await self._birth.life(self.starts, log=self.log, say=self.say)
            if isinstance(made, Life):
                await self._begins(made)
                return made
            self._note("died", {"life": self.starts, **made.body()})
            if made.kind == "port" and ports < _PORTS:
                ports += 1
            elif before is None:
                raise self._not_started(made)
            else:
                before = made

    async def _begins(self, life: Life) -> None:
        self.life = life
        self._minding = asyncio.create_task(self._mind(life))
        version = await life.admin.version()
        pid = life.process.pid if life.process else 0
        self._note("ready", {"life": life.number, "pid": pid, "vllm": version})

    async def _mind(self, life: Life) -> None:
        """Stay with a life to its end, and tell everybody."""
        assert life.process is not None
        crash = await until_over(
            life, life.process, log=self.log, silence_s=self._settings.silence_s
        )
        event = "hung" if crash.kind == "hung" else "died"
        self._note(event, {"life": life.number, **crash.body()})
        self.say(f"the vLLM server is gone ({crash.kind}): {crash.detail}")
        life.gone.set_result(crash)
        await life.close()

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


def _closed() -> InfraError:
    return InfraError("the vLLM server is closed", kind="closed")
