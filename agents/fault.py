"""What can go wrong on the bus. Each error names the peers, the message and the next step.

BusError
├── WiringError        peers that do not fit together, found before the first message
├── UnknownRecipient   a message to a peer that is not there
├── NoListener         a topic, or a type on it, that nobody hears
├── Unsendable         not a frozen `Wire`, or not strict JSON
├── HopLimit           a chain of messages that goes round
├── MessageLimit       one request that caused too many messages
├── WrongReply         a handler answered with something else than asked for
├── HandlerFailed      a handler raised something that is no `EvenerError`
├── HandlerCancelled   a handler was cancelled although its asker still waits
└── BusStopped         the bus has stopped; `__cause__` says why where a failure stopped it
"""

from collections.abc import Iterable
from difflib import get_close_matches

from evener.protocols.error import BusError


class WiringError(BusError):
    """Peers that do not fit together; lists every fault."""


class UnknownRecipient(BusError):
    """A message to a peer that is not there."""


class NoListener(BusError):
    """A topic, or a type of message on it, that nobody hears."""


class Unsendable(BusError):
    """Not a frozen `Wire`, or not strict JSON."""


class HopLimit(BusError):
    """A chain of causes longer than the bus allows; `cycle` names the peers that go round."""

    def __init__(self, what: str, *, cycle: tuple[str, ...]) -> None:
        self.cycle = cycle
        super().__init__(what)


class MessageLimit(BusError):
    """One request from outside that caused more messages than the bus allows."""


class WrongReply(BusError):
    """A reply of another type than asked for or declared."""


class HandlerFailed(BusError):
    """A handler raised something that is no `EvenerError`; `__cause__` is what it raised."""


class HandlerCancelled(BusError):
    """A handler was cancelled although its asker still waits."""


class BusStopped(BusError):
    """The bus has stopped; nothing more is delivered."""


def near(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'validator'?`, or which names there are."""
    names = sorted(known)
    close = get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return f"; did you mean {' or '.join(repr(n) for n in close)}?"
    return f"; there are {', '.join(names)}" if names else "; there are none"
