"""The bus's books: every message in the log before it is delivered, every delivery closed once.

sent = handled + failed + dead + cancelled, deliveries each (a published message has one for every
listener); what is not closed yet is open.
"""

import asyncio
import time
import traceback
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from evener.agents.envelope import Cause, Form
from evener.protocols.digest import JsonObject
from evener.protocols.port import Log

TRACEBACK = 8000  # characters kept of a traceback, its end

Delivery: TypeAlias = tuple[str, str]  # message id, recipient
Ending: TypeAlias = Literal["handled", "failed", "dead", "cancelled"]


@dataclass(slots=True)
class Counts:
    """Deliveries by what became of them."""

    sent: int = 0
    handled: int = 0
    failed: int = 0
    dead: int = 0
    cancelled: int = 0

    @property
    def open(self) -> int:
        """Deliveries not accounted for."""
        return self.sent - self.handled - self.failed - self.dead - self.cancelled


class Ledger:
    """Writes the log and keeps the open deliveries; holds no message that is closed."""

    def __init__(self, log: Log) -> None:
        self.counts = Counts()
        self._log = log
        self._open: dict[Delivery, Form] = {}
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._published = 0

    def message(
        self, cause: Cause, form: Form, body: JsonObject, *, recipients: tuple[str, ...] = ()
    ) -> None:
        """Log a message. `recipients` are the listeners of a published one."""
        entry: JsonObject = {
            "id": cause.id,
            "parent": cause.parent.id if cause.parent else None,
            "root": cause.root.id,
            "hop": cause.hop,
            "form": form,
            "sender": cause.sender,
            "type": cause.type,
            "at": time.time(),
            "body": body,
        }
        if form == "topic":
            entry |= {"topic": cause.to.removeprefix("#"), "recipients": list(recipients)}
        else:
            entry["recipient"] = cause.to
        self._log.append("message", entry)

    def open(self, cause: Cause, form: Form, recipient: str) -> None:
        """Count a delivery as sent."""
        self.counts.sent += 1
        self._open[cause.id, recipient] = form
        if form == "topic":
            self._published += 1
            self._quiet.clear()

    def close(self, delivery: Delivery, ending: Ending) -> None:
        """Count the delivery's ending; a second one of the same delivery is ignored."""
        form = self._open.pop(delivery, None)
        if form is None:
            return
        setattr(self.counts, ending, getattr(self.counts, ending) + 1)
        if form == "topic":
            self._published -= 1
            if not self._published:
                self._quiet.set()

    def note(self, ending: Ending, cause: Cause, agent: str, **more: str) -> None:
        """Log how a delivery ended."""
        self._log.append(ending, {"id": cause.id, "root": cause.root.id, "agent": agent, **more})

    def fault(self, cause: Cause, agent: str, error: BaseException, *, policy: str) -> None:
        """Log a handler's exception with its traceback."""
        self.note(
            "failed",
            cause,
            agent,
            error=type(error).__name__,
            text=str(error),
            policy=policy,
            traceback="".join(traceback.format_exception(error))[-TRACEBACK:],
        )

    def unfinished(self) -> tuple[Delivery, ...]:
        """The deliveries that are open."""
        return tuple(self._open)

    async def quiet(self) -> None:
        """Wait until no published message is open."""
        await self._quiet.wait()

    def total(self) -> None:
        """Log the counts."""
        self._log.append("bus", dict(asdict(self.counts)))
