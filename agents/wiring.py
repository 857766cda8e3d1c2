"""Who takes what from whom: the routes of a bus, and the check that they fit before it starts."""

from dataclasses import dataclass, field

from evener.agents.fault import NoListener, UnknownRecipient, WiringError, near
from evener.agents.peer import Handler, Peer, handlers
from evener.protocols.digest import Wire


@dataclass
class Wiring:
    """The peers by name, their handlers, and the topics that may go unheard."""

    peers: dict[str, Peer] = field(default_factory=dict[str, Peer])
    terminal: set[str] = field(default_factory=set[str])
    _answers: dict[str, dict[type[Wire], Handler]] = field(
        default_factory=dict[str, dict[type[Wire], Handler]]
    )
    _hears: dict[str, dict[str, dict[type[Wire], Handler]]] = field(
        default_factory=dict[str, dict[str, dict[type[Wire], Handler]]]
    )

    def add(self, name: str, peer: Peer) -> None:
        """Take in a peer. Raises WiringError where two of its handlers take the same message."""
        found = handlers(peer)
        if not found:
            raise WiringError(f"{type(peer).__name__} has no handler: mark one @answers or @hears")
        answers: dict[type[Wire], Handler] = {}
        hears: dict[str, dict[type[Wire], Handler]] = {}
        for handler in found:
            for table in [hears.setdefault(t, {}) for t in handler.topics] or [answers]:
                for kind in handler.takes:
                    if kind in table:
                        raise WiringError(
                            f"{type(peer).__name__} takes {kind.__name__} twice: in "
                            f"{table[kind].method} and in {handler.method}"
                        )
                    table[kind] = handler
        self.peers[name], self._answers[name] = peer, answers
        for topic, table in hears.items():
            self._hears.setdefault(topic, {})[name] = table

    def topics(self) -> dict[str, tuple[str, ...]]:
        """Every topic that is heard, with its listeners."""
        return {topic: tuple(listeners) for topic, listeners in self._hears.items()}

    def answering(self, recipient: str, message: Wire) -> Handler:
        """Raises UnknownRecipient for a name that is not there or does not take the message."""
        if recipient not in self.peers:
            raise UnknownRecipient(f"no peer is named {recipient!r}{near(recipient, self.peers)}")
        table = self._answers[recipient]
        handler = table.get(type(message))
        if handler is None:
            raise UnknownRecipient(
                f"{recipient!r} does not answer {type(message).__name__}"
                f"{near(type(message).__name__, (kind.__name__ for kind in table))}"
            )
        return handler

    def listening(self, sender: str, topic: str, message: Wire) -> dict[str, Handler]:
        """The listeners other than the sender. Raises NoListener where there must be some, or
        where one of them cannot take the message."""
        tables = {n: t for n, t in self._hears.get(topic, {}).items() if n != sender}
        if not tables and topic not in self.terminal:
            known = {*self._hears, *self.terminal} - {topic}
            raise NoListener(f"nobody hears the topic {topic!r}{near(topic, known)}")
        found: dict[str, Handler] = {}
        for name, table in tables.items():
            if type(message) not in table:
                raise NoListener(
                    f"{name!r} hears {topic!r} but does not take {type(message).__name__}"
                    f"{near(type(message).__name__, (kind.__name__ for kind in table))}"
                )
            found[name] = table[type(message)]
        return found

    def check(self) -> None:
        """Raises WiringError with every peer that is asked but not there, and every topic that is
        published but not heard."""
        faults: list[str] = []
        for name, peer in self.peers.items():
            for asked in peer.asks:
                if asked not in self.peers:
                    others = [other for other in self.peers if other != name]
                    hint = near(asked, others)
                    faults.append(f"{name!r} asks {asked!r}, which has not joined{hint}")
            for topic in peer.publishes:
                heard = [n for n in self._hears.get(topic, {}) if n != name]
                if not heard and topic not in self.terminal:
                    hint = near(topic, {*self._hears, *self.terminal} - {topic})
                    faults.append(f"{name!r} publishes {topic!r}, which nobody hears{hint}")
        if faults:
            raise WiringError("; ".join(faults))
