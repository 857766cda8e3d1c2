"""The interpreters of a run: one warm pool an event loop, closed with the loop.

An event loop that is shut down closes its asynchronous generators; the pool lives in one, so that
no process outlives the run and nobody has to remember to close it.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Protocol, TypeAlias

from evener.environments.sandbox import LEVELS, Level, PythonTool, Sandbox
from evener.protocols.error import ConfigError

_Key: TypeAlias = tuple[asyncio.AbstractEventLoop, Level | None]
_Held: TypeAlias = tuple[Sandbox, AsyncGenerator[Sandbox, None]]

# Environments of a loop share a pool. The generator has to be held here: one that is collected
# closes its pool in a task, which nobody waits for.
_OPEN: dict[_Key, asyncio.Task[_Held]] = {}


class Interpreters(Protocol):
    """Where a session gets its interpreter from."""

    async def ready(self) -> str:
        """The level of protection in force. Raises SandboxError where it is not enough."""
        ...

    async def tool(self) -> PythonTool:
        """An interpreter that is not started yet."""
        ...


class Sandboxed:
    """The running loop's sandbox, opened by the first who asks."""

    def __init__(self, *, required: Level | None = None) -> None:
        self._required: Level | None = required

    async def ready(self) -> str:
        """Opens the pool."""
        return (await self._sandbox()).level

    async def tool(self) -> PythonTool:
        """From the pool of the running loop."""
        return (await self._sandbox()).tool()

    async def _sandbox(self) -> Sandbox:
        key: _Key = (asyncio.get_running_loop(), self._required)
        opening = _OPEN.get(key)
        if opening is None:
            opening = _OPEN[key] = key[0].create_task(_opened(key))
        # whoever gives up waiting leaves the opening to the others
        return (await asyncio.shield(opening))[0]


def sandboxed(required: str | None) -> Sandboxed:
    """Interpreters with at least that protection. Raises ConfigError for a level that there is
    not."""
    for level in LEVELS:
        if level == required:
            return Sandboxed(required=level)
    if required is not None:
        raise ConfigError(
            f"there is no level {required!r}",
            where="math.require_sandbox",
            remedy=f"The levels are {', '.join(LEVELS)}",
        )
    return Sandboxed()


async def _opened(key: _Key) -> _Held:
    holding = _held(key)
    return await anext(holding), holding


async def _held(key: _Key) -> AsyncGenerator[Sandbox, None]:
    try:
        sandbox = await Sandbox.open(required=key[1])
        try:
            yield sandbox
        finally:
            await sandbox.close()
    finally:
        _OPEN.pop(key, None)
