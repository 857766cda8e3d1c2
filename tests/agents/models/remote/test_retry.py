from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from evener.agents.models.remote.faults import Fault, FaultServer, scripted
from evener.agents.models.remote.outcome import CallFault
from evener.agents.models.remote.retry import Retries
from evener.protocols.error import InfraError


async def test_a_wish_to_wait_is_kept_and_one_owner_sends_exactly_as_often_as_it_may(
    client: Callable[..., Any], ask: Any, waited: Any, journal: Any
) -> None:
    script = scripted([Fault("rate_limited", seconds=2), "rate_limited_bare"])
    async with FaultServer("fine", script) as server, client(server, attempts=3) as model:
        model.log_to(journal)
        assert (await model.complete(ask())).text == "fine"
        assert server.books.requests == 3
    first, second = waited.slept
    assert first >= 2
    assert 0.5 <= second <= 1.5  # the second of 0.5, 1, 2 … with jitter
    (body,) = journal.bodies("provider_call")
    assert [a["outcome"] for a in body["attempts"]] == ["rate_limited", "rate_limited", "answered"]
    assert [a["waited"] for a in body["attempts"]] == pytest.approx([0, first, second])


async def test_the_date_of_a_wish_counts_as_well(
    lean: Callable[..., Any], ask: Any, waited: Any
) -> None:
    script = scripted([Fault("rate_limited_date", seconds=30)])
    async with FaultServer("fine", script) as server, lean(server) as model:
        await model.complete(ask())
    assert 28 <= waited.slept[0] <= 30


async def test_no_wait_is_longer_than_the_limit(
    lean: Callable[..., Any], ask: Any, waited: Any
) -> None:
    script = scripted([Fault("rate_limited", seconds=86400)])
    async with (
        FaultServer("fine", script) as server,
        lean(server, longest_wait_s=20.0) as model,
    ):
        await model.complete(ask())
    assert waited.slept == [20]


async def test_everybody_waits_where_one_was_told_to(
    lean: Callable[..., Any], ask: Any, waited: Any
) -> None:
    script = scripted([Fault("rate_limited", seconds=40)])
    async with FaultServer("fine", script) as server, lean(server, attempts=1) as model:
        with pytest.raises(InfraError, match="429"):
            await model.complete(ask())
        await model.complete(ask())
    assert waited.slept == [40]


async def test_waits_double_with_jitter_and_are_the_same_for_the_same_seed(waited: Any) -> None:
    async def fails() -> None:
        raise CallFault("overloaded", "busy")

    for _ in range(2):
        retries = Retries(attempts=6, longest=6, clock=waited.clock, random=Random(4))
        with pytest.raises(CallFault):
            await retries.run(fails)
    first, second = waited.slept[:5], waited.slept[5:]
    assert first == second
    assert all(0.25 * 2**n <= wait <= 0.75 * 2**n for n, wait in enumerate(first[:4]))
    assert first[4] <= 6


async def test_what_no_retry_helps_is_tried_once(waited: Any) -> None:
    tries: list[int] = []

    async def fails() -> None:
        tries.append(1)
        raise CallFault("content_filter", "withheld")

    retries = Retries(attempts=6, longest=6, clock=waited.clock, random=Random(0))
    with pytest.raises(CallFault):
        await retries.run(fails)
    assert len(tries) == 1


async def test_a_first_request_that_is_refused_says_that_the_set_up_is_wrong_a_later_one_not(
    lean: Callable[..., Any], ask: Any
) -> None:
    from evener.protocols.error import ModelError

    refused = Fault("server_error", status=400)
    async with (
        FaultServer("fine", scripted([refused, None, refused])) as server,
        lean(server) as model,
    ):
        with pytest.raises(ModelError, match="refuses"):
            await model.complete(ask())
        await model.complete(ask())
        with pytest.raises(InfraError) as caught:
            await model.complete(ask())
    assert caught.value.kind == "refused"
    assert server.books.requests == 3
