"""Joining and addressing: what does not fit together is found at the start, by name."""

import asyncio
import contextlib
from typing import ClassVar

import pytest

from evener.agents.bus import Bus, Peer, answers, hears
from evener.agents.fault import (
    NoListener,
    UnknownRecipient,
    WiringError,
)
from evener.agents.record.memory import MemoryLog
from evener.protocols.digest import Wire
from evener.protocols.error import BusError, UserError


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


class Forwarder(Peer):
    asks: ClassVar[tuple[str, ...]] = ("doubler",)

    @answers
    async def forward(self, message: Text) -> Text:
        done = await self.ask("doubler", Number(value=float(message.text)), Number)
        return Text(text=str(done.value))


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


def bus_of(log: MemoryLog | None = None, **peers: Peer) -> Bus:
    bus = Bus(log or MemoryLog())
    for name, peer in peers.items():
        bus.join(name, peer)
    return bus


async def test_a_peer_that_asks_an_unknown_peer_is_found_at_the_start() -> None:
    class Typo(Forwarder):
        asks: ClassVar[tuple[str, ...]] = ("doublr",)

    with pytest.raises(WiringError, match=r"asks 'doublr'.*did you mean 'doubler'\?"):
        async with bus_of(typo=Typo(), doubler=Doubler()):
            pass


async def test_a_topic_that_nobody_hears_is_found_at_the_start_unless_it_is_terminal() -> None:
    class Typo(Speaker):
        publishes: ClassVar[tuple[str, ...]] = ("news", "newz")

    with pytest.raises(WiringError, match=r"publishes 'newz'.*did you mean 'news'\?"):
        async with bus_of(speaker=Typo(), listener=Listener()):
            pass
    bus = bus_of(speaker=Speaker())
    bus.terminal("news")
    async with bus:
        await bus.ask("speaker", Text(text="x"), Text)
    assert bus.counts.sent == 1


async def test_a_message_to_nobody_names_near_peers_and_cannot_end_clean() -> None:
    class Typo(Peer):
        @answers
        async def go(self, message: Text) -> Text:
            try:
                return await self.ask("dubler", message, Text)
            except UnknownRecipient:
                return message

    with pytest.raises(UnknownRecipient, match=r"'dubler'; did you mean 'doubler'\?"):
        async with bus_of(typo=Typo(), doubler=Doubler()) as bus:
            await bus.ask("typo", Text(text="x"), Text)
    with pytest.raises(UnknownRecipient, match="'doubler' does not answer Text"):
        async with bus_of(doubler=Doubler()) as bus:
            await bus.ask("doubler", Text(text="x"))


async def test_a_topic_without_listener_cannot_end_clean() -> None:
    bus = bus_of(listener=Listener())
    bus.terminal("trajectories")
    with pytest.raises(NoListener, match=r"'trajectries'; did you mean 'trajectories'\?"):
        async with bus:
            await bus.tell("trajectries", Text(text="x"))
    with pytest.raises(NoListener, match="'listener' hears 'news' but does not take Number"):
        async with bus_of(listener=Listener()) as bus:
            await bus.tell("news", Number(value=1))


async def test_a_peer_that_hides_its_message_to_nobody_cannot_end_clean_either() -> None:
    class Hider(Peer):
        publishes: ClassVar[tuple[str, ...]] = ("news",)

        @answers
        async def go(self, message: Text) -> Text:
            with contextlib.suppress(NoListener):
                await self.tell("news", Number(value=1))
            return message

    bus = bus_of(hider=Hider(), listener=Listener())
    with pytest.raises(NoListener, match="does not take Number"):
        async with bus:
            await bus.ask("hider", Text(text="x"))


async def test_a_topic_must_be_declared_by_its_publisher() -> None:
    class Secret(Peer):
        @answers
        async def go(self, message: Text) -> Text:
            await self.tell("news", message)
            return message

    async with bus_of(secret=Secret(), listener=Listener()) as bus:
        with pytest.raises(WiringError, match="without naming it"):
            await bus.ask("secret", Text(text="x"))


def test_names_are_unique_and_safe() -> None:
    bus = bus_of(doubler=Doubler())
    with pytest.raises(UserError, match="two peers are named 'doubler'"):
        bus.join("doubler", Doubler())
    for bad in ("", "../x", "user", "Über"):
        with pytest.raises(UserError):
            bus.join(bad, Doubler())


def test_a_peer_joins_one_bus() -> None:
    peer = Doubler()
    bus_of(doubler=peer)
    with pytest.raises(WiringError, match="has joined already"):
        bus_of(other=peer)
    with pytest.raises(BusError, match="has not joined"):
        _ = Doubler().name


def test_handlers_without_usable_annotations_are_refused() -> None:
    class Untyped(Peer):
        @answers
        async def go(self, message) -> Text:  # type: ignore[no-untyped-def]  # pyright: ignore
            return Text(text="")

    class Mute(Peer):
        pass

    class Twice(Doubler):
        @answers
        async def again(self, message: Number) -> Number:
            return message

    for peer, why in ((Untyped(), "annotated"), (Mute(), "no handler"), (Twice(), "twice")):
        with pytest.raises(WiringError, match=why):
            bus_of(peer=peer)
