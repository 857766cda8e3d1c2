"""One life of a server, from ready to gone: what is asked of it, and how its end reaches askers."""

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from evener.agents.models.remote.openai import Server
from evener.agents.models.vllm.admin import Admin
from evener.agents.models.vllm.crash import Crash
from evener.agents.models.vllm.process import ServerProcess
from evener.protocols.error import InfraError

T = TypeVar("T")
LOST = ("server_died", "server_hung")
"""Kinds of the InfraError with which what is under way ends."""
_LATE_S = 15.0
"""How long a server takes to end once its engine has."""


class Life:
    """`client` asks for replies, `admin` for all else. `gone` is set, once, when it is over.
    `process` is that of a server of our own, and `log_from` where in its log this life begins."""

    def __init__(
        self,
        *,
        number: int,
        url: str,
        client: Server,
        admin: Admin,
        process: ServerProcess | None = None,
        log_from: int = 0,
    ) -> None:
        self.number = number
        self.url = url
        self.client = client
        self.admin = admin
        self.gone: asyncio.Future[Crash] = asyncio.get_running_loop().create_future()
        self.process = process
        self.log_from = log_from
        self.late_s = _LATE_S if process else 0.0
        self.busy = 0
        """Requests under way."""
        self.answered = 0
        """Requests that came to an end."""

    async def during(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, unless the server goes first: then InfraError of a kind in LOST."""
        if self.gone.done():
            work.close()
            raise self.lost()
        task = asyncio.ensure_future(work)
        try:
            with self._counted():
                either: set[asyncio.Future[Any]] = {task, self.gone}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise self.lost()
            error = task.exception()
            if isinstance(error, InfraError) and _broken(error) and not self.gone.done():
                # connections break before the process is seen to have ended
                await asyncio.wait({self.gone}, timeout=self.late_s)
            if isinstance(error, InfraError) and self.gone.done():
                raise self.lost() from None
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def lost(self) -> InfraError:
        """What everybody gets who was waiting when it went."""
        crash = self.gone.result()
        kind = "server_hung" if crash.kind == "hung" else "server_died"
        return InfraError(f"the vLLM server is gone ({crash.kind}): {crash.detail}", kind=kind)

    async def close(self) -> None:
        """Give back the connections."""
        await self.client.close()
        await self.admin.close()

    @contextmanager
    def _counted(self) -> Generator[None]:
        self.busy += 1
        try:
            yield
        finally:
            self.busy -= 1
            self.answered += 1


class Serving(Protocol):
    """Where a life comes from: a server of our own, or one that runs already."""

    @property
    def life(self) -> Life | None:
        """The one there is now."""
        ...

    async def check(self) -> None:
        """What can be known without starting anything. ModelError where it cannot work."""
        ...

    async def up(self) -> Life:
        """A life that is not over, begun where that is needed. ModelError where there is none to be
        had, InfraError where this is closed."""
        ...

    async def close(self) -> None:
        """End it."""
        ...


class ForeignServer:
    """A server that somebody else runs: one life, whose end nobody tells us."""

    def __init__(self, url: str, client: Server, admin: Admin) -> None:
        self._parts = (url, client, admin)
        self.life: Life | None = None

    async def check(self) -> None:
        """Nothing is known without asking it."""

    async def up(self) -> Life:
        """Always the same one."""
        if self.life is None:
            url, client, admin = self._parts
            self.life = Life(number=1, url=url, client=client, admin=admin)
        return self.life

    async def close(self) -> None:
        """Give back the connections; the server goes on."""
        _, client, admin = self._parts
        await client.close()
        await admin.close()


def _broken(error: InfraError) -> bool:
    return error.kind in ("unreachable", "cut", "overloaded", "provider_error", "timeout")
