"""The turns of an episode as two who wait for each other see them: the harness asks, the agent
answers, and hears of its calls when the harness asks again.
"""

import asyncio
from collections.abc import Sequence

from evener.protocols.message import Message
from evener.protocols.model import Reply, Request

OVER = "The episode is over."


class Turn:
    """One request of the harness. `told` is what came of the reply's calls, by the agent's ids."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.taken = False
        self.calls: tuple[str, ...] = ()
        self.reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.told: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()


class Turns:
    """One turn at a time; the agent's next model call waits for the next one."""

    def __init__(self) -> None:
        self._at: Turn | None = None
        self._begun = asyncio.Event()

    @property
    def at(self) -> Turn:
        """The turn that the agent is in."""
        if self._at is None:
            raise AssertionError("no turn has begun")
        return self._at

    def begin(self, request: Request) -> Turn:
        """The harness asks. The calls of the turn before are told."""
        self._settle(_results(request.messages))
        self._at = Turn(request)
        self._begun.set()
        return self._at

    async def untaken(self) -> Turn:
        """The turn to answer, once there is one."""
        while self._at is None or self._at.taken:
            self._begun.clear()
            await self._begun.wait()
        return self._at

    def reply(self, turn: Turn, reply: Reply, *, calls: tuple[str, ...]) -> None:
        """The agent's model answers; `calls` are its ids of them, in order."""
        turn.calls = calls
        if not turn.reply.done():
            turn.reply.set_result(reply)

    async def told(self, call: str) -> str:
        """What came of a call of the turn that the agent is in."""
        told = await asyncio.shield(self.at.told)
        return told.get(call, OVER)

    def end(self) -> None:
        """Nothing more comes; whoever waits for a call's result is told so."""
        self._settle(())

    def _settle(self, results: Sequence[str]) -> None:
        if self._at is not None and not self._at.told.done():
            self._at.told.set_result(dict(zip(self._at.calls, results, strict=False)))


def _results(messages: Sequence[Message]) -> tuple[str, ...]:
    """The results that follow the last reply, one a call."""
    replies = [at for at, message in enumerate(messages) if message.role == "assistant"]
    after = messages[replies[-1] + 1 :] if replies else ()
    return tuple(message.content for message in after if message.role == "tool")
