"""How many requests an endpoint takes at once: one more for a round of successes, half after a 429.

All models that call one endpoint with the same `in_flight` share its pace. A wish to wait
(Retry-After) holds everybody of them back, not only the one who was told.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from evener.agents.models.remote.clock import Clock


class Pace:
    """At most `limit` slots are taken; `limit` stays between 1 and `most`."""

    def __init__(self, most: int, *, clock: Clock | None = None) -> None:
        self.limit = float(most)
        self.in_flight = 0
        self.halvings = 0
        self._most = float(most)
        self._clock = clock or Clock()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._resume_at = 0.0

    @asynccontextmanager
    async def slot(self) -> AsyncGenerator[int]:
        """One request's place, once there is one. Gives what `slower` wants to know."""
        await self._take()
        try:
            while (wait := self._resume_at - self._clock.now()) > 0:
                await self._clock.sleep(wait)
            yield self.halvings
        finally:
            self.in_flight -= 1
            self._wake()

    def faster(self) -> None:
        """A request succeeded."""
        self.limit = min(self._most, self.limit + 1 / self.limit)
        self._wake()

    def slower(self, since: int, *, wait: float | None = None) -> None:
        """A request was told that it was one too many. Those that were sent before the last halving
        say nothing new. `wait` is the server's wish in seconds."""
        if since == self.halvings:
            self.halvings += 1
            self.limit = max(1.0, self.limit / 2)
        if wait is not None:
            self._resume_at = max(self._resume_at, self._clock.now() + wait)

    async def _take(self) -> None:
        if self.in_flight < int(self.limit) and not self._waiting:
            self.in_flight += 1
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.in_flight -= 1
                self._wake()
            raise

    def _wake(self) -> None:
        while self._waiting and self.in_flight < int(self.limit):
            place = self._waiting.popleft()
            if not place.done():
                self.in_flight += 1
                place.set_result(None)


_PACES: WeakValueDictionary[tuple[str, int], Pace] = WeakValueDictionary()


def pace_of(endpoint: str, *, most: int) -> Pace:
    """The pace that everybody in this process shares who calls `endpoint` with `most`."""
    pace = _PACES.get((endpoint, most))
    if pace is None:
        pace = _PACES[endpoint, most] = Pace(most)
    return pace
