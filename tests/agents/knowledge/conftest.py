"""The desk's harnesses, and what the desk publishes."""

import asyncio
import json
from collections.abc import Callable

import pytest

from evener.agents.harness.load import load
from evener.agents.knowledge.adapt import adapt
from evener.agents.pattern import Background, published
from evener.environments.storefront import Storefront
from evener.protocols.harness import Harness
from evener.protocols.knowledge import Knowledge
from evener.protocols.message import Message
from evener.protocols.wire import ReviewRequest

Shipped = Callable[[str], Harness]
Asks = Callable[..., ReviewRequest]


@pytest.fixture(scope="session")
def background() -> Background:
    return asyncio.run(published(Storefront()))


@pytest.fixture(scope="session")
def shipped() -> Shipped:
    return lambda name: load(Storefront().harness_path(name))


@pytest.fixture(scope="session")
def target(shipped: Shipped) -> Harness:
    return shipped("target")


@pytest.fixture(scope="session")
def optimized(shipped: Shipped) -> Harness:
    return shipped("optimized")


@pytest.fixture(scope="session")
def knowledge(optimized: Harness, target: Harness, background: Background) -> Knowledge:
    return adapt(optimized, target, background)


def call(name: str, **arguments: object) -> str:
    return json.dumps({"name": name, "arguments": arguments})


@pytest.fixture
def asks() -> Asks:
    """A request: the prompt, the candidate, and pairs of a response and what it was told."""

    def made(prompt: str, candidate: str, *before: tuple[str, str]) -> ReviewRequest:
        visible = [
            message
            for said, told in before
            for message in (
                Message(role="assistant", content=said, origin="student", sampled=True),
                Message(role="user", content=told, origin="observation"),
            )
        ]
        return ReviewRequest(
            review="r",
            prompt=prompt,
            visible=(Message(role="user", content=prompt), *visible),
            candidate=candidate,
            turn=len(before),
        )

    return made


@pytest.fixture
def says() -> Callable[..., str]:
    """A call as the desk's protocol writes it."""
    return call
