"""Peers and their handlers: what a part of the team takes, answers, hears and says.

A handler's types are its annotations. `@answers` marks request → reply, `@hears` a listener.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from types import UnionType
from typing import (
    Any,
    ClassVar,
    Literal,
    Protocol,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from evener.agents.fault import WiringError
from evener.protocols.digest import Wire
from evener.protocols.error import BusError

R = TypeVar("R", bound=Wire)
F = TypeVar("F", bound=Callable[..., Awaitable[object]])

Policy: TypeAlias = Literal["stop", "dead_letter"]
_MARK = "__evener_topics__"


class Office(Protocol):
    """The bus as a peer sees it."""

    async def request(self, sender: str, recipient: str, message: Wire, *, reply: type[R]) -> R:
        """Send and wait for the checked reply."""
        ...

    async def publish(self, sender: str, topic: str, message: Wire) -> None:
        """Hand a message to everybody who hears the topic."""
        ...


def answers(method: F) -> F:
    """A handler of requests: `async def name(self, message: Request) -> Reply`."""
    setattr(method, _MARK, ())
    return method


def hears(*topics: str) -> Callable[[F], F]:
    """A handler of published messages: `async def name(self, message: News) -> None`."""
    if not topics:
        raise WiringError("@hears needs at least one topic")

    def mark(method: F) -> F:
        setattr(method, _MARK, topics)
        return method

    return mark


@dataclass(frozen=True, slots=True)
class Handler:
    """One handler: its method's name, the topics it hears (none: it answers), and its types."""

    method: str
    topics: tuple[str, ...]
    takes: tuple[type[Wire], ...]
    gives: tuple[type[Wire], ...]


class Peer:
    """A member of the team; `join` it to a bus.

    `asks` and `publishes` name the peers and topics it depends on, checked when the bus starts;
    `may_ask` names peers that it asks only where a message wants it, so that a team may do without.
    `on_failure` says what an exception does in a handler of a *published* message, where no asker
    waits for it: `stop` the bus, or put the message with the dead letters and go on.
    """

    asks: ClassVar[tuple[str, ...]] = ()
    may_ask: ClassVar[tuple[str, ...]] = ()
    publishes: ClassVar[tuple[str, ...]] = ()
    on_failure: ClassVar[Policy] = "stop"

    def __init__(self) -> None:
        self._office: Office | None = None
        self._name = ""

    @property
    def name(self) -> str:
        """The name it joined under; raises BusError before."""
        if not self._name:
            raise BusError(f"{type(self).__name__} has not joined a bus")
        return self._name

    def join(self, name: str, office: Office) -> None:
        """Called by the bus. Raises WiringError for a peer that is on a bus already."""
        if self._office is not None:
            raise WiringError(f"this {type(self).__name__} has joined already, as {self._name!r}")
        self._name, self._office = name, office

    async def leave(self) -> None:
        """Called once the bus has stopped: end what this peer began and nobody waits for."""

    async def ask(self, recipient: str, message: Wire, reply: type[R]) -> R:
        """Send a request and wait for its reply, which is checked to be a `reply`.

        An EvenerError that the handler raised is raised here as it is, anything else as
        HandlerFailed. Cancelling this call cancels the handler.
        """
        return await self._line().request(self.name, recipient, message, reply=reply)

    async def tell(self, topic: str, message: Wire) -> None:
        """Publish to everybody else who hears `topic`; returns once it is logged and queued."""
        if topic not in self.publishes:
            raise WiringError(f"{self.name!r} publishes {topic!r} without naming it in `publishes`")
        await self._line().publish(self.name, topic, message)

    def _line(self) -> Office:
        if self._office is None:
            raise BusError(f"{type(self).__name__} has not joined a bus")
        return self._office


def handlers(peer: Peer) -> tuple[Handler, ...]:
    """The handlers of a peer. Raises WiringError where annotations do not say what is needed."""
    return tuple(_handlers(type(peer)))


def _handlers(kind: type[Peer]) -> Iterator[Handler]:
    for name, method in inspect.getmembers(kind, inspect.iscoroutinefunction):
        topics: tuple[str, ...] | None = getattr(method, _MARK, None)
        if topics is None:
            continue
        place = f"{kind.__name__}.{name}"
        given = list(inspect.signature(method).parameters)[1:]
        if len(given) != 1:
            raise WiringError(f"{place} must take self and one message, it takes {given}")
        hints: dict[str, Any] = get_type_hints(method)
        takes = _wires(hints.get(given[0]), f"the message of {place}")
        gives: tuple[type[Wire], ...] = ()
        if not topics:
            gives = _wires(hints.get("return"), f"the reply of {place}")
        elif hints.get("return") is not type(None):
            raise WiringError(f"{place} hears a topic: it must return None")
        yield Handler(name, topics, takes, gives)


def _wires(hint: Any, what: str) -> tuple[type[Wire], ...]:
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if not all(isinstance(kind, type) and issubclass(kind, Wire) for kind in kinds):
        raise WiringError(f"{what} must be annotated with a Wire type or a union of them")
    return kinds
