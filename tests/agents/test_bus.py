"""The bus when all goes well: requests, topics, causes, limits of what may travel."""

import asyncio
import gc
import weakref
from typing import ClassVar

import pytest

from evener.agents.bus import Bus, Peer, answers, hears
from evener.agents.fault import (
    Unsendable,
    WrongReply,
)
from evener.agents.record.memory import MemoryLog
from evener.protocols.digest import JsonObject, Wire


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


class Loose(Wire):
    model_config = {"frozen": False}
    value: int = 0


class Payload(Wire):
    data: JsonObject


async def test_a_reply_comes_back_through_a_handler_that_asks_another_peer() -> None:
    async with bus_of(doubler=Doubler(), forwarder=Forwarder()) as bus:
        reply = await bus.ask("forwarder", Text(text="21"), Text)
    assert reply.text == "42.0"
    assert (bus.counts.sent, bus.counts.handled, bus.counts.open) == (2, 2, 0)


async def test_messages_are_logged_before_delivery_with_their_causes() -> None:
    log = MemoryLog()

    class Looker(Peer):
        @answers
        async def look(self, message: Text) -> Number:
            return Number(value=len(log.of("message")))

    class Asker(Peer):
        @answers
        async def go(self, message: Text) -> Number:
            return await self.ask("looker", message, Number)

    async with bus_of(log, looker=Looker(), asker=Asker()) as bus:
        seen = await bus.ask("asker", Text(text="x"), Number)
    assert seen.value == 2
    first, second, back, last = log.of("message")
    assert (first["sender"], first["recipient"], first["type"]) == ("user", "asker", "Text")
    assert (first["parent"], first["hop"], first["root"]) == (None, 0, first["id"])
    assert (second["parent"], second["hop"], second["root"]) == (first["id"], 1, first["id"])
    assert (back["form"], back["parent"], back["recipient"]) == ("reply", second["id"], "asker")
    assert (last["form"], last["parent"], last["recipient"]) == ("reply", first["id"], "user")
    assert second["body"] == {"text": "x"}
    assert len({str(entry["id"]) for entry in log.of("message")}) == 4


async def test_the_cause_is_carried_into_tasks_that_a_handler_starts() -> None:
    log = MemoryLog()

    class Spreader(Peer):
        @answers
        async def spread(self, message: Text) -> Number:
            async with asyncio.TaskGroup() as group:
                for value in range(3):
                    group.create_task(self.ask("doubler", Number(value=value), Number))
            return Number(value=3)

    async with bus_of(log, doubler=Doubler(), spreader=Spreader()) as bus:
        await bus.ask("spreader", Text(text=""), Number)
    first, *others = log.of("message")
    assert [m["parent"] for m in others if m["form"] == "request"] == [first["id"]] * 3


async def test_two_hundred_requests_at_once_are_all_answered() -> None:
    async with bus_of(doubler=Doubler(), forwarder=Forwarder()) as bus:
        replies = await asyncio.gather(
            *(bus.ask("forwarder", Text(text=str(n)), Text) for n in range(200))
        )
    assert [reply.text for reply in replies] == [str(n * 2.0) for n in range(200)]
    assert (bus.counts.sent, bus.counts.handled) == (400, 400)


async def test_the_body_travels_by_reference() -> None:
    doubler = Doubler()
    message = Number(value=1)
    async with bus_of(doubler=doubler) as bus:
        await bus.ask("doubler", message, Number)
    assert doubler.seen[0] is message


async def test_published_messages_are_handled_before_the_bus_is_left() -> None:
    log, listener = MemoryLog(), Listener()
    async with bus_of(log, speaker=Speaker(), listener=listener) as bus:
        await bus.ask("speaker", Text(text="hello"), Text)
    assert [m.text for m in listener.heard] == ["hello"]
    (published,) = [m for m in log.of("message") if m["form"] == "topic"]
    assert (published["topic"], published["recipients"]) == ("news", ["listener"])
    assert log.of("handled")[0]["id"] == published["id"]
    assert log.of("bus") == [
        {"sent": 2, "handled": 2, "failed": 0, "dead": 0, "cancelled": 0},
    ]


async def test_a_publisher_that_hears_its_own_topic_is_not_told_its_own_news() -> None:
    class Both(Listener):
        publishes: ClassVar[tuple[str, ...]] = ("news",)

        @answers
        async def speak(self, message: Text) -> Text:
            await self.tell("news", message)
            return message

    one, two = Both(), Both()
    async with bus_of(one=one, two=two) as bus:
        await bus.ask("one", Text(text="x"), Text)
    assert (len(one.heard), len(two.heard)) == (0, 1)


async def test_what_is_not_frozen_or_not_strict_json_is_refused_at_send() -> None:
    log = MemoryLog()
    nan = Number.model_construct(value=float("nan"))
    odd = Payload.model_construct(data={"x": object()})
    async with bus_of(log, doubler=Doubler()) as bus:
        with pytest.raises(Unsendable, match="not frozen"):
            await bus.ask("doubler", Loose())
        with pytest.raises(Unsendable, match="strict JSON"):
            await bus.ask("doubler", nan)
        with pytest.raises(Unsendable, match="strict JSON"):
            await bus.ask("doubler", odd)
        with pytest.raises(Unsendable, match="only subclasses of Wire"):
            await bus.ask("doubler", {"value": 1})  # type: ignore[call-overload]  # pyright: ignore
    assert log.of("message") == []


async def test_a_reply_of_another_type_is_refused() -> None:
    class Liar(Peer):
        @answers
        async def lie(self, message: Text) -> Number:
            return message  # type: ignore[return-value]  # pyright: ignore

    async with bus_of(liar=Liar(), doubler=Doubler()) as bus:
        with pytest.raises(WrongReply, match=r"liar.lie returned Text, it declares Number"):
            await bus.ask("liar", Text(text="x"))
        with pytest.raises(WrongReply, match="asked for Text"):
            await bus.ask("doubler", Number(value=1), Text)


async def test_no_message_is_kept_after_it_was_handled() -> None:
    class Quiet(Peer):
        @answers
        async def take(self, message: Text) -> Text:
            return Text(text="ok")

    async with bus_of(quiet=Quiet()) as bus:
        seen: list[weakref.ref[Text]] = []

        async def say(number: int) -> None:
            message = Text(text=f"{number:04}" * 1000)
            seen.append(weakref.ref(message))
            await bus.ask("quiet", message)

        for number in range(300):
            await say(number)
        gc.collect()
        assert sum(ref() is not None for ref in seen) <= 1
