"""Every reply that somebody waits for. All of them can be failed at once, whatever the runtime
does with its own."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from evener.agents.fault import BusStopped
from evener.protocols.digest import Wire


class Handled:
    """What a handler came to: the runtime carries it back as a value, never as an exception."""

    __slots__ = ("error", "reply")

    def __init__(self, reply: Wire | None = None, error: BaseException | None = None) -> None:
        self.reply = reply
        self.error = error


class Pending:
    """Replies by message id, and the deliveries that will bring them."""

    def __init__(self) -> None:
        self._answers: dict[str, asyncio.Future[Wire]] = {}
        self._deliveries: set[asyncio.Task[Handled]] = set()

    def __contains__(self, message: str) -> bool:
        return message in self._answers

    async def wait(self, message: str, sending: Coroutine[Any, Any, Handled]) -> Wire:
        """Send, and wait for the reply; raises what the handler raised."""
        answer: asyncio.Future[Wire] = asyncio.get_running_loop().create_future()
        self._answers[message] = answer
        delivery = asyncio.create_task(sending)
        self._deliveries.add(delivery)

        def settle(done: asyncio.Task[Handled]) -> None:
            self._deliveries.discard(done)
            if done.cancelled():
                _reject(answer, BusStopped("the bus stopped before the reply came"))
                return
            broken = done.exception()
            handled = Handled(error=broken) if broken else done.result()
            if handled.reply is None:
                _reject(answer, handled.error or BusStopped("the bus stopped"))
            elif not answer.done():
                answer.set_result(handled.reply)

        delivery.add_done_callback(settle)
        try:
            return await answer
        finally:
            del self._answers[message]

    def reject(self, why: str, cause: BaseException | None) -> None:
        """Fail every reply that is waited for with BusStopped."""
        for answer in list(self._answers.values()):
            stopped = BusStopped(why)
            stopped.__cause__ = cause
            _reject(answer, stopped)

    async def abandon(self) -> None:
        """Give up the deliveries."""
        left = list(self._deliveries)
        for delivery in left:
            delivery.cancel()
        await asyncio.gather(*left, return_exceptions=True)


def _reject(answer: asyncio.Future[Wire], error: BaseException) -> None:
    if not answer.done():
        answer.set_exception(error)
        answer.exception()  # marks it as seen: its asker may be gone
