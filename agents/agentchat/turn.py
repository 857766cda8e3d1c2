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
    """One turn at a time. The agent may still be in the last one when the next has begun."""

    def __init__(self) -> None:
        self._begun: Turn | None = None
        self._entered: Turn | None = None
        self._news = asyncio.Event()

    @property
    def at(self) -> Turn:
        """The turn that the agent is in."""
        if self._entered is None:
            raise AssertionError("the agent has entered no turn")
        return self._entered

    def begin(self, request: Request) -> Turn:
        """The harness asks. What came of the calls before is known now."""
        self._settle(_results(request.messages))
        self._begun = Turn(request)
        self._news.set()
        return self._begun

    async def untaken(self) -> Turn:
        """The turn to answer, once there is one: the agent is in it from now on."""
        while self._begun is None or self._begun.taken:
            self._news.clear()
            await self._news.wait()
        self._entered = self._begun
        return self._begun

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
        if self._begun is not None and not self._begun.told.done():
            self._begun.told.set_result(dict(zip(self._begun.calls, results, strict=False)))


def _results(messages: Sequence[Message]) -> tuple[str, ...]:
    """The results that follow the last reply, one a call."""
    replies = [at for at, message in enumerate(messages) if message.role == "assistant"]
    after = messages[replies[-1] + 1 :] if replies else ()
    return tuple(message.content for message in after if message.role == "tool")
