"""A message under way, and the chain of causes behind it.

A context variable carries the cause through handlers and the tasks that they start, so that every
message knows its parent, its root and its hop count without anybody passing them on.
"""

import secrets
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from evener.agents.fault import Unsendable
from evener.protocols.digest import JsonObject, Wire, canonical

Form: TypeAlias = Literal["request", "reply", "topic"]


@dataclass(slots=True)
class Root:
    """What all messages of one cause from outside share: its id, and how many they are by now."""

    id: str
    messages: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One message of a chain, without its body. `to` is a peer, or a topic with `#` before it."""

    id: str
    root: Root
    hop: int
    sender: str
    to: str
    type: str
    parent: "Cause | None" = field(repr=False)

    @classmethod
    def of(cls, parent: "Cause | None", *, sender: str, to: str, type: str) -> "Cause":
        """The next link behind `parent`, or a new root."""
        name = secrets.token_hex(8)
        root = parent.root if parent else Root(name)
        root.messages += 1
        return cls(
            id=name,
            root=root,
            hop=parent.hop + 1 if parent else 0,
            sender=sender,
            to=to,
            type=type,
            parent=parent,
        )

    def chain(self) -> tuple["Cause", ...]:
        """From the root to this message."""
        links: list[Cause] = []
        here: Cause | None = self
        while here is not None:
            links.append(here)
            here = here.parent
        return tuple(reversed(links))


@dataclass(frozen=True, slots=True, repr=False)
class Envelope:
    """What the runtime carries: a frozen body by reference, and its cause."""

    cause: Cause
    body: Wire

    def __repr__(self) -> str:
        # The runtime formats every message for its own log, wanted or not: keep that cheap.
        return f"Envelope({self.cause.id} {self.cause.type} {self.cause.sender}→{self.cause.to})"


current: ContextVar[Cause | None] = ContextVar("evener_bus_cause", default=None)


def document(message: object) -> JsonObject:
    """The message as strict JSON data. Raises Unsendable for anything that may not travel."""
    kind = type(message).__name__
    if not isinstance(message, Wire):
        raise Unsendable(f"{kind} cannot be sent: only subclasses of Wire travel on the bus")
    if not type(message).model_config.get("frozen"):
        raise Unsendable(f"{kind} cannot be sent: it is not frozen, and messages are not copied")
    try:
        data = message.document()
        canonical(data)
    except (ValueError, TypeError) as error:
        raise Unsendable(f"{kind} cannot be sent: it is not strict JSON ({error})") from error
    return data
