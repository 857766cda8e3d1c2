import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from evener.agents.models.remote.faults import FaultServer
from evener.agents.models.remote.pace import Pace, pace_of


async def test_a_round_of_successes_is_one_more_and_being_told_off_is_half() -> None:
    pace = Pace(64)
    for expected in (32, 16, 8):
        pace.slower(pace.halvings)
        assert pace.limit == expected
    for _ in range(8):
        pace.faster()
    assert pace.limit == pytest.approx(9, abs=0.1)
    for _ in range(10_000):
        pace.faster()
    assert pace.limit == 64
    for _ in range(20):
        pace.slower(pace.halvings)
    assert pace.limit == 1


async def test_a_volley_that_was_sent_together_halves_once() -> None:
    pace = Pace(64)
    sent = [pace.halvings] * 64
    for since in sent:
        pace.slower(since)
    assert pace.limit == 32


async def test_never_more_than_the_limit_and_first_come_first_served() -> None:
    pace, order, most = Pace(4), [], 0

    async def one(number: int) -> None:
        nonlocal most
        async with pace.slot():
            most = max(most, pace.in_flight)
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(one(n) for n in range(50)))
    assert (most, order, pace.in_flight) == (4, [*range(50)], 0)


async def test_who_is_cancelled_while_waiting_takes_no_place_away() -> None:
    pace = Pace(1)

    async def hold(seconds: float) -> None:
        async with pace.slot():
            await asyncio.sleep(seconds)

    first = asyncio.create_task(hold(0.02))
    waiting = [asyncio.create_task(hold(0)) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.gather(first, *waiting, return_exceptions=True)
    assert pace.in_flight == 0
    await asyncio.wait_for(hold(0), 1)


def test_all_who_call_an_endpoint_share_its_pace() -> None:
    one = pace_of("host:1/v1", most=8)
    assert pace_of("host:1/v1", most=8) is one
    assert pace_of("host:2/v1", most=8) is not one


async def test_a_server_that_takes_eight_at_once_is_learnt_and_everything_is_answered(
    lean: Callable[..., Any], ask: Any
) -> None:
    async with (
        FaultServer("fine", takes=8, delay=0.005) as server,
        lean(server, attempts=12) as model,
    ):
        replies = await asyncio.gather(*(model.complete(ask(str(n))) for n in range(200)))
    assert len(replies) == 200
    told_off = server.books.requests - 200
    assert 0 < told_off < 200
