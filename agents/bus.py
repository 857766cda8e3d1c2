"""The bus: peers on autogen-core's runtime, with its gaps closed. Nothing else imports the runtime.

Every message is a frozen `Wire`, logged before it is delivered, and accounted for at the end. No
exception gets lost: a request's reaches its asker, a published message's stops the bus (or goes to
the dead letters, by the peer's policy). The bus owns every pending reply and fails all of them when
it stops.
"""

import asyncio
import time
from types import TracebackType
from typing import Self, TypeVar, overload

from autogen_core import (
    AgentId,
    BaseAgent,
    MessageContext,
    SingleThreadedAgentRuntime,
    TopicId,
    TypeSubscription,
)

from evener.agents.envelope import Cause, Envelope, current, document
from evener.agents.fault import (
    BusStopped,
    HandlerCancelled,
    HandlerFailed,
    HopLimit,
    MessageLimit,
    NoListener,
    UnknownRecipient,
    WiringError,
    WrongReply,
)
from evener.agents.ledger import Counts, Delivery, Ledger
from evener.agents.limit import Limits
from evener.agents.peer import Handler, Peer, answers, hears
from evener.agents.pending import Handled, Pending
from evener.agents.record.name import safe_name
from evener.agents.wiring import Wiring
from evener.protocols.digest import Wire
from evener.protocols.error import BusError, EvenerError
from evener.protocols.port import Log

__all__ = ["Bus", "Peer", "answers", "hears"]

R = TypeVar("R", bound=Wire)
USER = "user"


class _Seat(BaseAgent):
    """A peer's place in the runtime."""

    def __init__(self, bus: "Bus", name: str) -> None:
        super().__init__(name)
        self._bus = bus
        self._name = name

    async def on_message_impl(self, message: Envelope, ctx: MessageContext) -> Handled:
        return await self._bus.deliver(self._name, message)


class Bus:
    """Join the peers, then `async with bus:` checks the wiring, runs, and settles all accounts.

    `hop_limit` bounds the chain of causes behind one message, `message_limit` all messages that
    one call from outside may cause. Leaving waits up to `drain_s` seconds for published messages.
    """

    def __init__(
        self,
        log: Log,
        *,
        hop_limit: int = 64,
        message_limit: int | None = None,
        drain_s: float = 60.0,
    ) -> None:
        self._limits = Limits(hop_limit, message_limit)
        self._drain_s = drain_s
        self._wiring = Wiring()
        self._ledger = Ledger(log)
        self._runtime = SingleThreadedAgentRuntime()
        self._state = "new"
        self._failure: BaseException | None = None
        self._pending = Pending()
        self._running: dict[Delivery, asyncio.Task[object]] = {}
        self._withdrawn: set[str] = set()

    @property
    def counts(self) -> Counts:
        """Deliveries by what became of them."""
        return self._ledger.counts

    def join(self, name: str, peer: Peer) -> None:
        """Give a peer its name. Raises WiringError for a name that is taken, before the start."""
        if self._state != "new":
            raise WiringError(f"{name!r} must join before the bus starts")
        safe_name(name, what="peer", taken=[*self._wiring.peers, USER])
        self._wiring.add(name, peer)
        peer.join(name, self)

    def terminal(self, *topics: str) -> None:
        """Topics that may go unheard."""
        self._wiring.terminal.update(topics)

    async def __aenter__(self) -> Self:
        if self._state != "new":
            raise BusStopped("a bus runs once: make another")
        self._wiring.check()
        for name in self._wiring.peers:
            await self._runtime.register_agent_instance(_Seat(self, name), AgentId(name, "default"))
        for topic, names in self._wiring.topics().items():
            for name in names:
                await self._runtime.add_subscription(TypeSubscription(topic, name))
        self._runtime.start()
        self._state = "running"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None and self._failure is None:
                await self._drain()
        finally:
            await self._stop()
        if self._failure is not None and (error is None or isinstance(error, BusStopped)):
            raise self._failure

    @overload
    async def ask(self, recipient: str, message: Wire) -> Wire: ...
    @overload
    async def ask(self, recipient: str, message: Wire, reply: type[R]) -> R: ...
    async def ask(self, recipient: str, message: Wire, reply: type[Wire] = Wire) -> Wire:
        """Ask a peer from outside; see `Peer.ask`."""
        return await self.request(USER, recipient, message, reply=reply)

    async def tell(self, topic: str, message: Wire) -> None:
        """Publish from outside."""
        await self.publish(USER, topic, message)

    async def request(self, sender: str, recipient: str, message: Wire, *, reply: type[R]) -> R:
        """See `Peer.ask`."""
        self._check_running()
        body = document(message)
        try:
            self._wiring.answering(recipient, message)
        except UnknownRecipient as error:
            self._fail(error)
            raise
        cause = self._next(sender, recipient, message)
        self._ledger.message(cause, "request", body)
        self._ledger.open(cause, "request", recipient)
        sending = self._runtime.send_message(
            Envelope(cause, message),
            AgentId(recipient, "default"),
            sender=_agent(sender),
            message_id=cause.id,
        )
        try:
            given = await self._pending.wait(cause.id, sending)
        except asyncio.CancelledError:
            self._withdraw((cause.id, recipient))
            raise
        if not isinstance(given, reply):
            raise WrongReply(
                f"{recipient!r} answered {type(message).__name__} with {type(given).__name__}, "
                f"{sender!r} asked for {reply.__name__}"
            )
        return given

    async def publish(self, sender: str, topic: str, message: Wire) -> None:
        """See `Peer.tell`."""
        self._check_running()
        body = document(message)
        try:
            listeners = tuple(self._wiring.listening(sender, topic, message))
        except NoListener as error:
            self._fail(error)
            raise
        cause = self._next(sender, f"#{topic}", message)
        self._ledger.message(cause, "topic", body, recipients=listeners)
        if not listeners:
            return
        for name in listeners:
            self._ledger.open(cause, "topic", name)
        await self._runtime.publish_message(
            Envelope(cause, message),
            TopicId(topic, "default"),
            sender=_agent(sender),
            message_id=cause.id,
        )

    async def deliver(self, name: str, envelope: Envelope) -> Handled:
        """Run the handler of `name`. Called by the runtime; never raises."""
        cause, delivery = envelope.cause, (envelope.cause.id, name)
        task = asyncio.current_task()
        over = self._state != "running" or self._failure is not None
        if over or cause.id in self._withdrawn or task is None:
            self._withdrawn.discard(cause.id)
            return self._cancelled(delivery, cause)
        self._running[delivery] = task
        token = current.set(cause)
        try:
            return await self._handle(name, envelope)
        except (asyncio.CancelledError, BusStopped):
            return self._cancelled(delivery, cause)
        except Exception as error:  # noqa: BLE001 - the boundary that records whatever is raised
            return self._failed(delivery, cause, error)
        finally:
            current.reset(token)
            self._running.pop(delivery, None)

    async def _handle(self, name: str, envelope: Envelope) -> Handled:
        cause, body, peer = envelope.cause, envelope.body, self._wiring.peers[name]
        if cause.to.startswith("#"):
            topic = cause.to.removeprefix("#")
            listener = self._wiring.listening(cause.sender, topic, body)[name]
            await getattr(peer, listener.method)(body)
            self._ledger.note("handled", cause, name)
            self._ledger.close((cause.id, name), "handled")
            return Handled()
        handler = self._wiring.answering(name, body)
        reply = self._reply(name, handler, await getattr(peer, handler.method)(body))
        back = Cause.of(cause, sender=name, to=cause.sender, type=type(reply).__name__)
        self._ledger.message(back, "reply", document(reply))
        self._ledger.close((cause.id, name), "handled")
        return Handled(reply=reply)

    @staticmethod
    def _reply(name: str, handler: Handler, reply: object) -> Wire:
        if not isinstance(reply, handler.gives):
            declared = " | ".join(kind.__name__ for kind in handler.gives)
            raise WrongReply(
                f"{name}.{handler.method} returned {type(reply).__name__}, it declares {declared}"
            )
        return reply

    def _next(self, sender: str, to: str, message: Wire) -> Cause:
        cause = Cause.of(current.get(), sender=sender, to=to, type=type(message).__name__)
        try:
            self._limits.check(cause)
        except (HopLimit, MessageLimit) as error:
            self._fail(error)
            raise
        return cause

    def _failed(self, delivery: Delivery, cause: Cause, error: Exception) -> Handled:
        """Log a handler's exception and see that somebody gets it."""
        name = delivery[1]
        awaited = delivery[0] in self._pending
        policy = "raise" if awaited else self._wiring.peers[name].on_failure
        known: BaseException = error
        if not isinstance(error, EvenerError):
            known = HandlerFailed(
                f"{name!r} failed on {cause.type} ({cause.id}): {type(error).__name__}: {error}"
            )
            known.__cause__ = error
        self._ledger.close(delivery, "dead" if policy == "dead_letter" else "failed")
        try:
            self._ledger.fault(cause, name, error, policy=policy)
        except Exception as broken:  # noqa: BLE001 - a log that fails stops the bus
            self._fail(broken)
        if policy == "stop":
            self._fail(known)
        return Handled(error=known)

    def _cancelled(self, delivery: Delivery, cause: Cause) -> Handled:
        self._ledger.close(delivery, "cancelled")
        try:
            self._ledger.note("cancelled", cause, delivery[1])
        except Exception as broken:  # noqa: BLE001 - a log that fails stops the bus
            self._fail(broken)
        return Handled(
            error=HandlerCancelled(f"{delivery[1]!r} was cancelled on {cause.type} ({cause.id})")
        )

    def _withdraw(self, delivery: Delivery) -> None:
        running = self._running.get(delivery)
        if running is not None:
            running.cancel()
        elif delivery in self._ledger.unfinished():
            self._withdrawn.add(delivery[0])

    def _check_running(self) -> None:
        if self._failure is not None:
            raise BusStopped(f"the bus has stopped: {self._failure}") from self._failure
        if self._state != "running":
            raise BusStopped("the bus is not running: use `async with bus:`")

    def _fail(self, error: BaseException) -> None:
        """Stop for a failure: no more messages, every pending reply fails, handlers are ended."""
        if self._failure is not None:
            return
        self._failure = error
        self._pending.reject(f"the bus has stopped: {error}", error)
        here = asyncio.current_task()
        for task in self._running.values():
            if task is not here:
                task.cancel()

    async def _drain(self) -> None:
        try:
            async with asyncio.timeout(self._drain_s):
                await self._ledger.quiet()
        except TimeoutError:
            open_ = ", ".join(sorted({name for _, name in self._ledger.unfinished()}))
            self._fail(
                BusError(f"published messages unhandled {self._drain_s:g} s after the end: {open_}")
            )

    async def _stop(self, grace_s: float = 10.0) -> None:
        self._state = "stopped"
        self._pending.reject(
            f"the bus has stopped: {self._failure or 'it was left'}", self._failure
        )
        end = time.monotonic() + grace_s
        while self._running and time.monotonic() < end:
            for task in self._running.values():
                task.cancel()
            await asyncio.wait(list(self._running.values()), timeout=1.0)
        for name in sorted({name for _, name in self._running}):
            self._fail(BusError(f"{name!r} did not end within {grace_s:g} s of being cancelled"))
        await self._pending.abandon()
        # a delivery that the runtime has begun answers into its queue, which has to be open still
        for _ in range(3 * (1 + self._runtime.unprocessed_messages_count)):
            await asyncio.sleep(0)
        await self._runtime.stop()
        for peer in self._wiring.peers.values():
            await peer.leave()
        for left in self._ledger.unfinished():
            self._ledger.close(left, "dead")
        self._ledger.total()


def _agent(name: str) -> AgentId | None:
    return None if name == USER else AgentId(name, "default")
