"""Both clients against the server that fails as it is told to, without waiting."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any, TypeAlias

import pytest

from evener.agents.models.remote.clock import Clock
from evener.agents.models.remote.faults import FaultServer
from evener.agents.models.remote.litellm import LiteLLMModel
from evener.agents.models.remote.model import RemoteModel
from evener.agents.models.remote.openai import OpenAIModel
from evener.agents.models.remote.pace import Pace
from evener.agents.models.remote.settings import RemoteSettings, Timeouts
from evener.protocols.digest import JsonObject
from evener.protocols.message import Message
from evener.protocols.model import Request, Sampling

PATIENT = Timeouts(connect_s=10, read_s=10, total_s=10)


class Waited:
    """A clock on which waiting takes no time; what was waited is written down."""

    def __init__(self) -> None:
        self.at = 1000.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds
        await asyncio.sleep(0)

    @property
    def clock(self) -> Clock:
        return Clock(now=lambda: self.at, sleep=self.sleep)


class Journal:
    """A run's log in memory."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, JsonObject]] = []

    def append(self, kind: str, body: JsonObject) -> int:
        self.entries.append((kind, body))
        return len(self.entries)

    def bodies(self, *kinds: str) -> Iterator[JsonObject]:
        return (body for kind, body in self.entries if kind in kinds)


Client: TypeAlias = Callable[..., Any]


@pytest.fixture
def waited() -> Waited:
    return Waited()


@pytest.fixture
def journal() -> Journal:
    return Journal()


@pytest.fixture(scope="session")
def warm() -> None:
    """litellm with everything loaded: its first call takes seconds, and no test measures that."""

    async def once() -> None:
        settings = RemoteSettings(timeouts=Timeouts(total_s=120))
        async with FaultServer() as server:
            model = LiteLLMModel("openai/small", api_base=server.url, settings=settings)
            await model.complete(asking())
            await model.close()

    asyncio.run(once())


@pytest.fixture(params=["lean", "lean, streaming", "litellm", "litellm, streaming"])
def client(request: pytest.FixtureRequest, waited: Waited) -> Client:
    """`async with client(server, attempts=…) as model`, for each client and way of answering."""
    kind, _, stream = str(request.param).partition(", ")
    if kind == "litellm":
        request.getfixturevalue("warm")
    return maker(kind, waited, stream=bool(stream))


@pytest.fixture
def lean(waited: Waited) -> Client:
    """The same for the lean client alone."""
    return maker("lean", waited, stream=False)


def maker(kind: str, waited: Waited, *, stream: bool) -> Client:
    @asynccontextmanager
    async def made(
        server: FaultServer | str, *, name: str = "small", **given: Any
    ) -> AsyncGenerator[RemoteModel]:
        options = {key: given.pop(key) for key in ("key", "vllm", "role") if key in given}
        chosen: dict[str, Any] = {"stream": stream, "timeouts": PATIENT, "attempts": 3}
        settings = RemoteSettings(**(chosen | given))
        url = server if isinstance(server, str) else server.url
        common: dict[str, Any] = {
            "settings": settings,
            "clock": waited.clock,
            "random": Random(0),
            "pace": Pace(settings.in_flight, clock=waited.clock),
        }
        if kind == "lean":
            model: RemoteModel = OpenAIModel(name, url, **common, **options)
        else:
            model = LiteLLMModel(f"openai/{name}", api_base=url, **common, **options)
        try:
            yield model
        finally:
            await model.close()

    return made


def asking(text: str = "say it now", **sampling: Any) -> Request:
    return Request(messages=(Message(role="user", content=text),), sampling=Sampling(**sampling))


@pytest.fixture
def ask() -> Callable[..., Request]:
    """A request of one message."""
    return asking
