"""`Sandbox`: interpreters kept ready, handed out one an episode, never used twice.

The pool is whole again after whatever an episode did: an interpreter that has ended is replaced,
and so is the process that forks them. Code of at most `running` calls runs at a time, so that a
deadline on the wall clock means the same however many episodes there are.
"""

import asyncio
import logging
import os
from collections import deque
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from evener.environments.sandbox.folder import remove
from evener.environments.sandbox.nursery import Nursery
from evener.environments.sandbox.protection import (
    LEVELS,
    Level,
    Limits,
    Protection,
    SandboxError,
    require,
)
from evener.environments.sandbox.tool import Interpreter
from evener.environments.sandbox.worker import Worker
from evener.protocols.error import InfraError

_LOG = logging.getLogger("evener.sandbox")
_TRIES = 3


class Sandbox:
    """A pool of interpreters, bound to one event loop. Made by `open`; an async context manager."""

    def __init__(
        self, nursery: Nursery, *, level: Level, limits: Limits, warm: int, skip: Sequence[str]
    ) -> None:
        self._nursery = nursery
        self._level: Level = level
        self._warm = max(1, warm)
        self._skip = tuple(skip)
        self._idle: deque[Worker] = deque()
        self._living: set[Worker] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._filling: asyncio.Task[None] | None = None
        self._mending = asyncio.Lock()
        self._counting = asyncio.Lock()
        self._closed = False
        self._protection: Protection | None = None
        self.limits = limits
        self.running = asyncio.Semaphore(max(2, os.cpu_count() or 1))

    @classmethod
    async def open(
        cls,
        level: Level | None = None,
        *,
        required: Level | None = None,
        limits: Limits | None = None,
        warm: int = 4,
        skip: Sequence[str] = (),
    ) -> "Sandbox":
        """The best level that works here, or `level`, with `warm` interpreters ready.

        `skip` leaves out measures (`user`, `landlock`, `seccomp`), for tests. Raises SandboxError
        where `level` does not work here or is below `required`.
        """
        held = limits or Limits()
        said = ""
        tried: tuple[Level, ...] = LEVELS[::-1] if level is None else (level,)
        for one in tried:
            if level is not None:
                require(level, required)
            try:
                nursery = await Nursery.start(one, limits=held, skip=skip)
            except InfraError as error:
                said = str(error)
                _LOG.info("Python sandbox: level %s does not work here: %s", one, said)
                continue
            made = cls(nursery, level=one, limits=held, warm=warm, skip=skip)
            try:
                await made._fill()
                require(one, required)
            except InfraError as error:
                await made.close()
                said = str(error)
                continue
            except BaseException:
                await made.close()
                raise
            _LOG.info("%s", made.protection.sentence())
            return made
        raise SandboxError(
            f"no sandbox of level {level or 'process or above'} works here: {said}",
            remedy="ask for the level process" if level == "bwrap" else "",
        )

    @property
    def level(self) -> Level:
        """The level in force."""
        return self._level

    @property
    def protection(self) -> Protection:
        """What is in force, to be recorded with every trajectory."""
        if self._protection is None:
            raise InfraError("no interpreter of the sandbox has started yet")
        return self._protection

    @property
    def ready(self) -> int:
        """How many interpreters wait to be handed out."""
        return len(self._idle)

    def tool(self) -> Interpreter:
        """The interpreter of one episode, not started yet."""
        return Interpreter(self)

    async def take(self) -> Worker:
        """An interpreter that nobody has used. Raises InfraError where none can be made."""
        while self._idle:
            worker = self._idle.popleft()
            if worker.sound:
                break
        else:
            worker = await self._fork()
        if self._filling is None or self._filling.done():
            self._filling = self._spawn(self._refill())
        return worker

    async def _refill(self) -> None:
        with suppress(InfraError):  # whoever takes the next one is told
            await self._fill()

    async def _fill(self) -> None:
        async with self._counting:
            while len(self._idle) < self._warm and not self._closed:
                self._idle.append(await self._fork())

    async def whole(self) -> None:
        """Wait until as many interpreters are ready as are kept, and what has ended is gone."""
        await self._fill()
        while others := [one for one in self._tasks if one is not asyncio.current_task()]:
            await asyncio.gather(*others)

    async def _fork(self) -> Worker:
        said = ""
        for _ in range(_TRIES):
            if self._closed:
                raise InfraError("the sandbox is closed")
            nursery = self._nursery
            try:
                worker = await nursery.fork(self.limits, self._ended)
            except InfraError as error:
                said = str(error)
                await self._mend(nursery)
                continue
            self._living.add(worker)
            if self._protection is None:
                self._protection = self._reported(worker)
            return worker
        raise InfraError(said)

    def _reported(self, worker: Worker) -> Protection:
        packages = tuple(sorted(self._nursery.packages.items()))
        return Protection.model_validate(
            {
                **worker.report,
                "level": self._level,
                "limits": self.limits,
                "python": self._nursery.python,
                "packages": packages,
            }
        )

    async def _mend(self, broken: Nursery) -> None:
        """Replace the process that forks, if it is gone."""
        async with self._mending:
            if self._nursery is broken and not broken.alive and not self._closed:
                await broken.close()
                self._nursery = await Nursery.start(
                    self._level, limits=self.limits, skip=self._skip
                )

    def _ended(self, worker: Worker, folder: Path | None) -> None:
        self._living.discard(worker)
        with suppress(ValueError):
            self._idle.remove(worker)
        self._spawn(self._clean(worker, folder))

    async def _clean(self, worker: Worker, folder: Path | None) -> None:
        await worker.gone()
        if folder is not None:
            if self._protection is None or not self._protection.seccomp:
                await self._nursery.sweep()
            try:
                folder.rmdir()  # noqa: ASYNC240  nearly always empty
            except OSError:
                # the code has made something there
                await asyncio.to_thread(remove, folder)

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """End every interpreter and what it has started. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        for worker in list(self._living):
            worker.end()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for worker in list(self._living):
            worker.end()
        await self._nursery.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def __aenter__(self) -> "Sandbox":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
