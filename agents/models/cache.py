"""A request that a patch leaves unchanged is not paid for again.

The key covers what the model sees and the revision of the weights. Whole replies are kept, errors
are not. Equal requests at the same time are computed once, and all of them get that reply.
"""

import asyncio
import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from evener.protocols.digest import digest
from evener.protocols.error import ModelError
from evener.protocols.model import ModelRef, Reply, Request, Usage
from evener.protocols.port import Adaptable, Hosting, Model


class ReplyStore(Protocol):
    """Bytes under a key. The run's database is one; `MemoryReplies` is another."""

    def get(self, key: str) -> bytes | None:
        """What is kept under the key, or None."""
        ...

    def put(self, key: str, body: bytes) -> None:
        """Keep it."""
        ...


class MemoryReplies:
    """Replies for as long as the process lives."""

    def __init__(self) -> None:
        self._bodies: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        """What is kept under the key, or None."""
        return self._bodies.get(key)

    def put(self, key: str, body: bytes) -> None:
        """Keep it."""
        self._bodies[key] = body


class Lent:
    """Another run's replies to read: what is computed beside them is kept elsewhere."""

    def __init__(self, store: ReplyStore) -> None:
        self._store = store

    def get(self, key: str) -> bytes | None:
        """What the other run keeps under the key, or None."""
        return self._store.get(key)

    def put(self, key: str, body: bytes) -> None:
        """Keep nothing."""


@dataclass
class _Call:
    """A reply being computed, and how many wait for it."""

    task: "asyncio.Task[Reply]"
    waiters: int = 0


class CachedModel:
    """`model` with a memory. A kept reply costs nothing: its usage is one cached call."""

    def __init__(self, model: Model, store: ReplyStore) -> None:
        self._model = model
        self._store = store
        self._calls: dict[str, _Call] = {}

    @property
    def ref(self) -> ModelRef:
        """The weights that answer."""
        return self._model.ref

    async def complete(self, request: Request) -> Reply:
        """The kept reply of an equal request, or the model's; errors as for the model."""
        key = digest({"request": request.key(), "model": self.ref.revision})
        kept = self._kept(key)
        if kept is not None:
            return kept
        call = self._calls.get(key)
        first = call is None
        if call is None:
            call = _Call(asyncio.create_task(self._compute(key, request)))
            self._calls[key] = call
        reply = await self._wait(call)
        return reply if first else _cached(reply)

    async def close(self) -> None:
        """Close the model; what is kept stays in the store."""
        await self._model.close()

    async def load_adapter(self, name: str, folder: Path) -> ModelRef:
        """Load an adapter onto the model. ModelError where the model takes none."""
        return await self._adaptable().load_adapter(name, folder)

    def use(self, ref: ModelRef) -> "CachedModel":
        """A view on `ref` with the same store."""
        return CachedModel(self._adaptable().use(ref), self._store)

    def serving(self, name: str, ref: ModelRef) -> "CachedModel":
        """A view on another model of the endpoint, with the same store. ModelError where there is
        no endpoint."""
        if not isinstance(self._model, Hosting):
            raise ModelError(f"{self.ref} has no endpoint that serves {name!r}")
        return CachedModel(self._model.serving(name, ref), self._store)

    def _adaptable(self) -> Adaptable:
        if not isinstance(self._model, Adaptable):
            raise ModelError(f"{self.ref} cannot load adapters")
        return self._model

    async def _compute(self, key: str, request: Request) -> Reply:
        try:
            reply = await self._model.complete(request)
            self._store.put(key, reply.model_dump_json().encode("utf-8"))
        finally:
            del self._calls[key]
        return reply

    async def _wait(self, call: _Call) -> Reply:
        """Wait without owning: only when nobody waits any more is the computation cancelled."""
        call.waiters += 1
        try:
            return await asyncio.shield(call.task)
        finally:
            call.waiters -= 1
            if call.waiters == 0 and not call.task.done():
                call.task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await call.task

    def _kept(self, key: str) -> Reply | None:
        body = self._store.get(key)
        if body is None:
            return None
        try:
            return _cached(Reply.model_validate_json(body))
        except ValidationError:
            # written by another version: computed again rather than trusted
            return None


def _cached(reply: Reply) -> Reply:
    usage = Usage(
        cached_calls=1,
        cached_prompt_tokens=reply.usage.read,
        cached_completion_tokens=reply.usage.written,
    )
    return reply.model_copy(update={"usage": usage})
