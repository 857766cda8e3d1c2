"""The one owner of retries: how often, after how long, and for which faults.

What a library underneath retries by itself would multiply with this; each is told not to.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from evener.agents.models.remote.clock import Clock
from evener.agents.models.remote.outcome import CallFault

T = TypeVar("T")
FIRST_WAIT = 0.5


@dataclass(frozen=True)
class Retries:
    """At most `attempts` in all. Between them what the server wished for, else twice as long each
    time with jitter; never longer than `longest` seconds."""

    attempts: int
    longest: float
    clock: Clock
    random: Random

    async def run(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """The first attempt's result that is one; else its last fault."""
        retrying = AsyncRetrying(
            sleep=self.clock.sleep,
            stop=stop_after_attempt(self.attempts),
            wait=self._wait,
            retry=retry_if_exception(_worth_it),
            reraise=True,
        )
        return await retrying(attempt)

    def _wait(self, state: RetryCallState) -> float:
        fault = state.outcome.exception() if state.outcome else None
        wished = fault.retry_after if isinstance(fault, CallFault) else None
        backoff = FIRST_WAIT * 2 ** (state.attempt_number - 1) * self.random.uniform(0.5, 1.5)
        return min(self.longest, backoff if wished is None else max(wished, 0.05))


def _worth_it(error: BaseException) -> bool:
    return isinstance(error, CallFault) and error.action == "retry"
