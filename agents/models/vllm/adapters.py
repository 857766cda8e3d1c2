"""The adapters of one model, and which of them the server holds now.

One that is asked is loaded if it is not there: after the server was started again, or after it had
to make room. One that nobody asks any more is unloaded when there are too many.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from evener.agents.models.local.adapter import adapter_ref
from evener.agents.models.vllm.life import Life
from evener.protocols.digest import JsonObject
from evener.protocols.error import ModelError
from evener.protocols.model import ModelRef

Note = Callable[[str, JsonObject], None]


@dataclass(frozen=True)
class Adapter:
    """An adapter under the fresh name that the server has for it."""

    ref: ModelRef
    name: str
    folder: Path

    @classmethod
    def of(cls, base: ModelRef, name: str, folder: Path) -> "Adapter":
        """The adapter in `folder`, whose content its ref and its name stand for."""
        ref = adapter_ref(base, name, folder)
        fresh = f"{name}-{ref.revision[:12]}-{secrets.token_hex(3)}"
        return cls(ref=ref, name=fresh, folder=folder.resolve())


class _Held:
    """An adapter on the server, or on its way there."""

    def __init__(self, adapter: Adapter, loading: "asyncio.Task[None]") -> None:
        self.adapter = adapter
        self.loading = loading
        self.users = 0


class Adapters:
    """At most `most` are on the server, and more only while more are asked at once. `note` hears
    of each that comes and goes."""

    def __init__(self, base: ModelRef, *, most: int, note: Note) -> None:
        self._base = base
        self._most = most
        self._note = note
        self._kept: dict[str, Adapter] = {}
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._life: Life | None = None
        self._moving = asyncio.Lock()
        self._trims: set[asyncio.Task[None]] = set()

    def keep(self, adapter: Adapter) -> None:
        """It was proved: from now on it may be asked for."""
        self._kept[adapter.ref.revision] = adapter

    def find(self, ref: ModelRef) -> Adapter | None:
        """The adapter of that ref, where it was proved."""
        return self._kept.get(ref.revision)

    @property
    def names(self) -> tuple[str, ...]:
        """What the server holds, the one that was asked longest ago first."""
        return tuple(held.adapter.name for held in self._held.values())

    @asynccontextmanager
    async def on(self, life: Life, adapter: Adapter) -> AsyncGenerator[None]:
        """The adapter is on the server as long as this block runs. ModelError where the server
        refuses it or its files have changed, InfraError where the server goes."""
        if life.gone.done():
            raise life.lost()
        if self._life is not life:
            self._life = life
            self._held.clear()
        held = self._held.get(adapter.name)
        if held is None:
            loading = asyncio.create_task(self._load(life, adapter))
            loading.add_done_callback(_retrieved)
            held = self._held[adapter.name] = _Held(adapter, loading)
        self._held.move_to_end(adapter.name)
        held.users += 1
        try:
            await asyncio.shield(held.loading)
            yield
        finally:
            held.users -= 1
            failed = held.loading.done() and (
                held.loading.cancelled() or held.loading.exception() is not None
            )
            if failed and self._held.get(adapter.name) is held:
                del self._held[adapter.name]
            self._make_room(life)

    async def drop(self, life: Life, adapter: Adapter) -> None:
        """Take it off the server."""
        if self._life is life and self._held.pop(adapter.name, None) is not None:
            await self._unload(life, adapter)

    async def close(self, *, leave: bool) -> None:
        """End what is under way, and take all off the server, unless it ends as well."""
        work = [*self._trims, *(held.loading for held in self._held.values())]
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        life = self._life
        if leave or life is None or life.gone.done():
            return
        for held in list(self._held.values()):
            await self.drop(life, held.adapter)

    def _make_room(self, life: Life) -> None:
        """Unload what nobody uses, the oldest first."""
        if self._life is not life or life.gone.done():
            return
        spare = len(self._held) - self._most
        idle = [held for held in self._held.values() if not held.users and held.loading.done()]
        for held in idle[: max(0, spare)]:
            del self._held[held.adapter.name]
            task = asyncio.create_task(self._unload(life, held.adapter))
            self._trims.add(task)
            task.add_done_callback(self._trims.discard)

    async def _load(self, life: Life, adapter: Adapter) -> None:
        async with self._moving:
            name = adapter.ref.adapter or ""
            now = await asyncio.to_thread(adapter_ref, self._base, name, adapter.folder)
            if now.revision != adapter.ref.revision:
                raise ModelError(
                    f"the adapter is {now.revision[:12]} now and was {adapter.ref.revision[:12]}",
                    where=str(adapter.folder),
                    remedy="put its files back, or train it again",
                )
            await life.during(life.admin.load(adapter.name, adapter.folder))
            self._note("loaded", {"life": life.number, "adapter": adapter.name})

    async def _unload(self, life: Life, adapter: Adapter) -> None:
        async with self._moving:
            if not life.gone.done() and await life.admin.unload(adapter.name):
                self._note("unloaded", {"life": life.number, "adapter": adapter.name})


def _retrieved(loading: "asyncio.Task[None]") -> None:
    """Whoever waits for it gets its failure; where nobody does, it is no news."""
    if not loading.cancelled():
        loading.exception()
