"""A model behind an interface: budget, pace, attempt, border, retry, log. One call has one owner.

A reply's usage is that of the attempt that gave it. What the others cost stands in the log's entry
of the call, and in `spending`, which counts everything.
"""

import asyncio
import copy
from collections.abc import Iterator
from difflib import get_close_matches
from random import Random
from typing import Protocol, Self

from evener.agents.models.remote.attempt import CALL, Attempt, CallRecord, Ending
from evener.agents.models.remote.border import read_reply, tokens_of
from evener.agents.models.remote.clock import Clock
from evener.agents.models.remote.outcome import CallFault
from evener.agents.models.remote.pace import Pace, pace_of
from evener.agents.models.remote.payload import payload
from evener.agents.models.remote.retry import Retries
from evener.agents.models.remote.settings import RemoteSettings
from evener.agents.models.remote.spending import Spending
from evener.agents.models.remote.transport import Transport
from evener.protocols.digest import JsonObject
from evener.protocols.error import InfraError, ModelError
from evener.protocols.model import ModelRef, Reply, Request


class Journal(Protocol):
    """The log of a run, as far as it is needed here."""

    def append(self, kind: str, body: JsonObject) -> int:
        """Write one entry durably."""
        ...

    def bodies(self, *kinds: str) -> Iterator[JsonObject]:
        """The entries of those kinds so far."""
        ...


class RemoteModel:
    """`name` at whatever `transport` reaches, for one role.

    `host` is what errors call the endpoint. `pace` None shares that of all who call it with the
    same `in_flight`. `clock` and
    `random` decide how long is waited between attempts, and nothing else. `schemas`: whether the
    endpoint is known to keep to the schema of an answer.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        name: str,
        ref: ModelRef,
        host: str,
        role: str = "student",
        settings: RemoteSettings | None = None,
        pace: Pace | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
        extra: JsonObject | None = None,
        schemas: bool = False,
    ) -> None:
        self.settings = settings or RemoteSettings()
        self.host = host
        self.role = role
        self.spending = Spending(role, self.settings.budget)
        self.window: int | None = None
        """Tokens that fit, where `check` was told."""
        self._transport = transport
        self._name = name
        self._ref = ref
        self._pace = pace or pace_of(host, most=self.settings.in_flight)
        self._clock = clock or Clock()
        self._retries = Retries(
            attempts=self.settings.attempts,
            longest=self.settings.longest_wait_s,
            clock=self._clock,
            random=random or Random(),
        )
        self._extra = extra or {}
        told = self.settings.json_schema
        self._schemas = schemas if told is None else told
        self._journal: Journal | None = None
        self._running: set[asyncio.Task[Reply]] = set()
        self._state = _State()

    @property
    def ref(self) -> ModelRef:
        """Provider, name and host."""
        return self._ref

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._ref.revision})"

    def log_to(self, journal: Journal) -> None:
        """Write every call from now on into a run's log, and count what it holds already."""
        self.spending.resume(journal.bodies(CALL))
        self._journal = journal

    def unpriced(self) -> bool:
        """Whether a budget in money is set and nothing would ever count against it."""
        return self.settings.budget.usd is not None and self._transport.price(1, 1) is None

    def serving(self, name: str, ref: ModelRef) -> Self:
        """A view on another model of the same endpoint: an adapter, say. It shares connections,
        pace and spending; closing it closes all."""
        view = copy.copy(self)
        view._name, view._ref = name, ref
        return view

    async def check(self) -> tuple[str, ...]:
        """Whether the endpoint can be reached, once and without asking for a reply: the names it
        offers. ModelError in one line where it cannot, or takes no request from us."""
        try:
            listing = await self._transport.names()
        except CallFault as fault:
            if fault.kind == "unreachable":
                raise ModelError(
                    f"no server answers: {fault.detail}",
                    where=self.host,
                    remedy="start it, or correct api_base",
                ) from None
            if fault.action == "give_up" and fault.kind != "not_found":
                raise fault.error(self.host, attempts=1) from None
            return ()
        self.window = listing.window(self._name)
        return tuple(listing.windows)

    async def complete(self, request: Request) -> Reply:
        """One reply.

        Raises ContextExceeded, ModelError where the user must act, BudgetError where the role's
        budget is used up, InfraError for everything else, its kind the fault's name.
        """
        if self._is_closed():
            raise self._closed()
        work = asyncio.create_task(self._complete(request))
        self._running.add(work)
        try:
            return await work
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if self._is_closed() and not (current and current.cancelling()):
                raise self._closed() from None
            raise
        finally:
            self._running.discard(work)

    async def close(self) -> None:
        """End what is under way with InfraError and give back the connections."""
        self._state.closed = True
        for work in tuple(self._running):
            work.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await self._transport.close()

    async def _complete(self, request: Request) -> Reply:
        body = payload(
            request,
            self._name,
            stream=self.settings.stream,
            logprobs=self.settings.logprobs,
            schemas=self._schemas,
        )
        attempts: list[Attempt] = []
        last = self._clock.now()

        async def attempt() -> Reply:
            nonlocal last
            try:
                return await self._attempt(body | self._extra, request, attempts, since=last)
            finally:
                last = self._clock.now()

        try:
            reply = await self._retries.run(attempt)
        except CallFault as fault:
            raise await self._error(fault, attempts=len(attempts)) from None
        finally:
            self._log(attempts)
        self._state.answered = True
        return reply

    async def _attempt(
        self, body: JsonObject, request: Request, attempts: list[Attempt], *, since: float
    ) -> Reply:
        """One request, written down however it ends."""
        async with self._pace.slot() as turn:
            self.spending.begin()
            start = self._clock.now()
            ending: Ending = "cancelled"
            tokens: tuple[int, int] | None = None
            status: int | None = None
            try:
                answer = await self._transport.send(body)
                reply = read_reply(
                    answer,
                    request,
                    ref=self._ref,
                    price=self._transport.price,
                    seconds=self._clock.now() - start,
                    wall=self._clock.wall(),
                )
                ending, tokens = "answered", tokens_of(answer)
                self._pace.faster()
            except CallFault as fault:
                ending, tokens, status = fault.kind, fault.tokens, fault.status
                if fault.kind == "rate_limited":
                    wish = fault.retry_after
                    longest = self.settings.longest_wait_s
                    self._pace.slower(turn, wait=None if wish is None else min(wish, longest))
                raise
            finally:
                seconds = self._clock.now() - start
                cost = self._transport.price(*tokens) if tokens else None
                self.spending.end(seconds, tokens, cost)
                attempts.append(
                    Attempt(
                        outcome=ending,
                        status=status,
                        waited=max(0.0, start - since),
                        seconds=max(0.0, seconds),
                        prompt_tokens=tokens[0] if tokens else None,
                        completion_tokens=tokens[1] if tokens else None,
                        cost_usd=cost,
                    )
                )
        return reply

    async def _error(self, fault: CallFault, *, attempts: int) -> Exception:
        """What a fault becomes when no attempt is left."""
        if fault.kind == "not_found":
            return await self._not_found(fault)
        if fault.kind == "refused" and not self._state.answered:
            # before anything was answered, it is the set-up that is wrong, not this one request
            return ModelError(
                f"the server refuses: {fault.detail}", where=self.host, remedy=fault.remedy
            )
        return fault.error(self.host, attempts=attempts)

    async def _not_found(self, fault: CallFault) -> Exception:
        """Which names there are, as far as the endpoint tells."""
        try:
            names = tuple((await self._transport.names()).windows)
        except CallFault as other:
            said = f"{other.detail} ({other.status})" if other.status else other.detail
            return ModelError(
                f"{fault.detail}; asked for its models, it says: {said}",
                where=self.host,
                remedy="correct api_base",
            )
        near = get_close_matches(self._name, names, n=3, cutoff=0.4) or sorted(names)[:8]
        remedy = f"there are {', '.join(near)}" if near else ""
        return ModelError(
            f"no model {self._name!r}: {fault.detail}", where=self.host, remedy=remedy
        )

    def _log(self, attempts: list[Attempt]) -> None:
        if self._journal is not None and attempts:
            record = CallRecord(role=self.role, model=self._ref.revision, attempts=tuple(attempts))
            self._journal.append(CALL, record.body())

    def _is_closed(self) -> bool:
        return self._state.closed

    def _closed(self) -> InfraError:
        return InfraError(f"{self._ref} is closed", kind="closed")


class _State:
    """What a model and its views share."""

    def __init__(self) -> None:
        self.closed = False
        self.answered = False
