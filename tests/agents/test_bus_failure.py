"""The bus when things go wrong: exceptions, loops, cancelling, leaving. Each is a gap of the
runtime below it, or would end in silence there."""

import asyncio
import gc
from typing import ClassVar, Literal

import pytest

from evener.agents.bus import Bus, Peer, answers, hears
from evener.agents.fault import (
    BusStopped,
    HandlerCancelled,
    HandlerFailed,
    HopLimit,
    MessageLimit,
)
from evener.agents.record.memory import MemoryLog
from evener.protocols.digest import JsonObject, Wire
from evener.protocols.error import BudgetError, BusError, RunError


class Number(Wire):
    value: float


class Text(Wire):
    text: str


class Doubler(Peer):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Number] = []

    @answers
    async def double(self, message: Number) -> Number:
        self.seen.append(message)
        await asyncio.sleep(0)
        return Number(value=message.value * 2)


class Listener(Peer):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Text] = []

    @hears("news")
    async def hear(self, message: Text) -> None:
        await asyncio.sleep(0)
        self.heard.append(message)


class Speaker(Peer):
    publishes: ClassVar[tuple[str, ...]] = ("news",)

    @answers
    async def speak(self, message: Text) -> Text:
        await self.tell("news", message)
        return message


class Broken(Peer):
    """Fails on everything."""

    @answers
    async def answer(self, message: Text) -> Text:
        raise KeyError(message.text)

    @answers
    async def spend(self, message: Number) -> Number:
        raise BudgetError("tokens", used=2, limit=1)

    @hears("news")
    async def hear(self, message: Text) -> None:
        raise RuntimeError("critic broke")


class Lenient(Broken):
    on_failure: ClassVar[Literal["stop", "dead_letter"]] = "dead_letter"


class Sleeper(Peer):
    def __init__(self) -> None:
        super().__init__()
        self.started = 0
        self.ended = 0

    @answers
    async def sleep(self, message: Text) -> Text:
        self.started += 1
        try:
            await asyncio.sleep(30)
        finally:
            self.ended += 1
        return message


class Passer(Peer):
    """Hands every text on to the next peer: three of them go round for ever."""

    def __init__(self, topic: str, following: str) -> None:
        super().__init__()
        self.following = following

    @answers
    async def take(self, message: Text) -> Text:
        return await self.ask(self.following, message, Text)


class Repeater(Peer):
    publishes: ClassVar[tuple[str, ...]] = ("ping", "pong")

    @hears("ping")
    async def ping(self, message: Text) -> None:
        await self.tell("pong", message)

    @hears("pong")
    async def pong(self, message: Text) -> None:
        await self.tell("ping", message)


class Chain(Peer):
    @answers
    async def go(self, message: Text) -> Text:
        return await self.ask("sleeper", message, Text)


class FullDisk(MemoryLog):
    """Fails once it is told that it is full."""

    full = False

    def append(self, kind: str, body: JsonObject) -> int:
        if self.full:
            raise RunError("disk full")
        return super().append(kind, body)


def bus_of(log: MemoryLog | None = None, **peers: Peer) -> Bus:
    bus = Bus(log or MemoryLog())
    for name, peer in peers.items():
        bus.join(name, peer)
    return bus


async def play(bus: Bus, recipient: str, message: Wire) -> Wire:
    """One request from start to end; never longer than five seconds."""
    async with bus, asyncio.timeout(5):
        return await bus.ask(recipient, message)


async def test_an_exception_in_a_listener_stops_the_bus_and_is_in_the_log() -> None:
    log = MemoryLog()
    bus = bus_of(log, speaker=Speaker(), critic=Broken())
    with pytest.raises(HandlerFailed, match=r"'critic' failed on Text .*critic broke") as caught:
        await play(bus, "speaker", Text(text="x"))
    assert isinstance(caught.value.__cause__, RuntimeError)
    (failed,) = log.of("failed")
    (published,) = [m for m in log.of("message") if m["form"] == "topic"]
    assert (failed["agent"], failed["id"]) == ("critic", published["id"])
    assert "raise RuntimeError" in str(failed["traceback"])
    assert bus.counts.failed == 1


async def test_a_stopped_bus_fails_every_pending_request() -> None:
    sleeper = Sleeper()
    log = MemoryLog()

    async def run() -> list[BaseException | Wire]:
        bus = bus_of(log, sleeper=sleeper, critic=Broken())
        async with bus:
            waiting = [
                asyncio.create_task(bus.ask("sleeper", Text(text=str(n)))) for n in range(49)
            ]
            await asyncio.sleep(0.01)
            await bus.tell("news", Text(text="x"))
            return await asyncio.gather(*waiting, return_exceptions=True)

    with pytest.raises(HandlerFailed):
        await asyncio.wait_for(run(), 5)
    assert (sleeper.started, sleeper.ended) == (49, 49)
    assert len(log.of("cancelled")) == 49


async def test_pending_requests_see_why_the_bus_stopped() -> None:
    bus = bus_of(sleeper=Sleeper(), critic=Broken())

    async def run() -> None:
        async with bus:
            waiting = asyncio.create_task(bus.ask("sleeper", Text(text="")))
            await asyncio.sleep(0.01)
            await bus.tell("news", Text(text="x"))
            with pytest.raises(BusStopped, match="critic broke") as caught:
                await waiting
            assert isinstance(caught.value.__cause__, HandlerFailed)
            with pytest.raises(BusStopped, match="critic broke"):
                await bus.ask("sleeper", Text(text=""))

    with pytest.raises(HandlerFailed):
        await run()


async def test_a_dead_letter_is_logged_and_counted_and_the_bus_goes_on() -> None:
    log, listener = MemoryLog(), Listener()
    async with bus_of(log, speaker=Speaker(), critic=Lenient(), listener=listener) as bus:
        await bus.ask("speaker", Text(text="x"), Text)
        await bus.ask("speaker", Text(text="y"), Text)
    assert [failed["policy"] for failed in log.of("failed")] == ["dead_letter"] * 2
    assert (bus.counts.dead, bus.counts.handled, bus.counts.open) == (2, 4, 0)
    assert len(listener.heard) == 2


async def test_a_request_raises_what_its_handler_raised() -> None:
    log = MemoryLog()
    async with bus_of(log, critic=Broken(), doubler=Doubler()) as bus:
        with pytest.raises(BudgetError, match="budget of 1 tokens"):
            await bus.ask("critic", Number(value=1), Number)
        with pytest.raises(HandlerFailed, match="KeyError: 'x'"):
            await bus.ask("critic", Text(text="x"), Text)
        assert (await bus.ask("doubler", Number(value=1), Number)).value == 2
    assert [failed["policy"] for failed in log.of("failed")] == ["raise", "raise"]


async def test_fifty_requests_that_fail_together_all_end() -> None:
    bus = bus_of(critic=Broken())
    async with bus, asyncio.timeout(5):
        ends = await asyncio.gather(
            *(bus.ask("critic", Text(text=str(n))) for n in range(50)), return_exceptions=True
        )
        assert [type(end) for end in ends] == [HandlerFailed] * 50
    assert (bus.counts.failed, bus.counts.open) == (50, 0)


async def test_a_log_that_fails_stops_the_bus_and_reaches_the_asker() -> None:
    log = FullDisk()

    class Filler(Peer):
        @answers
        async def fill(self, message: Text) -> Text:
            log.full = True
            return message

    with pytest.raises(RunError, match="disk full"):
        await play(bus_of(log, filler=Filler()), "filler", Text(text="x"))


async def test_a_round_of_three_peers_ends_at_the_hop_limit_and_is_printed() -> None:
    bus = Bus(MemoryLog(), hop_limit=12)
    for name, following in (("critic", "agent"), ("agent", "validator"), ("validator", "critic")):
        bus.join(name, Passer(name, following))
    with pytest.raises(HopLimit, match="hop_limit") as caught:
        await play(bus, "critic", Text(text="revise"))
    assert sorted(caught.value.cycle) == ["agent", "critic", "validator"]
    assert "validator → critic → agent → validator" in str(caught.value)
    assert bus.counts.sent == 13


async def test_a_loop_of_published_messages_ends_at_the_hop_limit() -> None:
    bus = Bus(MemoryLog(), hop_limit=20)
    bus.join("one", Repeater())
    bus.join("two", Repeater())
    with pytest.raises(HopLimit):
        async with bus:
            await bus.tell("ping", Text(text="x"))


async def test_a_peer_that_asks_for_ever_ends_at_the_message_limit() -> None:
    class Endless(Peer):
        @answers
        async def go(self, message: Text) -> Text:
            while True:
                await self.ask("doubler", Number(value=1), Number)

    bus = Bus(MemoryLog(), message_limit=40)
    bus.join("endless", Endless())
    bus.join("doubler", Doubler())
    with pytest.raises(MessageLimit, match="more than 40 messages"):
        await play(bus, "endless", Text(text=""))
    assert bus.counts.sent == 21


async def test_cancelling_a_request_cancels_its_handlers_down_the_chain() -> None:
    sleeper, doubler = Sleeper(), Doubler()
    async with bus_of(sleeper=sleeper, chain=Chain(), doubler=doubler) as bus:
        waiting = asyncio.create_task(bus.ask("chain", Text(text="x")))
        await asyncio.sleep(0.05)
        assert sleeper.started == 1
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.sleep(0.05)
        assert sleeper.ended == 1
        assert (await bus.ask("doubler", Number(value=1), Number)).value == 2
    assert (bus.counts.cancelled, bus.counts.open) == (2, 0)


async def test_a_request_that_was_cancelled_in_the_queue_is_never_handled() -> None:
    doubler = Doubler()
    async with bus_of(doubler=doubler) as bus:
        waiting = asyncio.create_task(bus.ask("doubler", Number(value=1)))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await bus.ask("doubler", Number(value=2))
    assert [n.value for n in doubler.seen] == [2]
    assert bus.counts.cancelled == 1


async def test_a_handler_that_cancels_itself_does_not_leave_its_asker_waiting() -> None:
    class Quitter(Peer):
        @answers
        async def quit(self, message: Text) -> Text:
            raise asyncio.CancelledError

    async with bus_of(quitter=Quitter()) as bus:
        async with asyncio.timeout(5):
            with pytest.raises(HandlerCancelled):
                await bus.ask("quitter", Text(text="x"))


async def test_leaving_the_bus_ends_what_still_runs() -> None:
    sleeper = Sleeper()
    bus = bus_of(sleeper=sleeper)
    async with bus:
        waiting = asyncio.create_task(bus.ask("sleeper", Text(text="x")))
        await asyncio.sleep(0.01)
    with pytest.raises(BusStopped, match="it was left"):
        await waiting
    assert sleeper.ended == 1
    with pytest.raises(BusStopped):
        await bus.ask("sleeper", Text(text="x"))
    assert len(asyncio.all_tasks()) == 1


async def test_an_error_of_the_body_is_not_hidden() -> None:
    waiting: list[asyncio.Task[Wire]] = []

    async def run() -> None:
        async with bus_of(sleeper=Sleeper()) as bus:
            waiting.append(asyncio.create_task(bus.ask("sleeper", Text(text="x"))))
            await asyncio.sleep(0.01)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run()
    assert isinstance(waiting[0].exception(), BusStopped)


async def test_a_listener_that_never_ends_is_named() -> None:
    class Stuck(Peer):
        @hears("news")
        async def hear(self, message: Text) -> None:
            await asyncio.sleep(30)

    bus = Bus(MemoryLog(), drain_s=0.05)
    bus.join("stuck", Stuck())
    with pytest.raises(BusError, match=r"unhandled 0.05 s after the end: stuck"):
        async with bus:
            await bus.tell("news", Text(text="x"))


async def test_leaving_in_the_middle_of_requests_leaves_no_error_that_nobody_gets() -> None:
    seen: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, said: seen.append(str(said)))

    asking: list[asyncio.Task[Number]] = []

    async def leave(*, after: int) -> None:
        async with bus_of(doubler=Doubler()) as bus:
            numbers = (Number(value=n) for n in range(3))
            asking.extend(asyncio.create_task(bus.ask("doubler", n, Number)) for n in numbers)
            for _ in range(after):
                await asyncio.sleep(0)
            raise ZeroDivisionError

    for steps in range(12):
        with pytest.raises(ZeroDivisionError):
            await leave(after=steps)
        await asyncio.gather(*asking, return_exceptions=True)
    gc.collect()
    assert seen == []
