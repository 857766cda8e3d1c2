"""What the stages of a run share: who asks, what is stored, what was planned, what was used."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, Protocol

from evener.agents.budget import Meter
from evener.agents.bus import Peer
from evener.agents.pattern import Background
from evener.agents.plan import Plan
from evener.agents.rollouts import Rollouts
from evener.protocols.diff import DiffRecord
from evener.protocols.digest import JsonObject, Wire
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.patch import Patch
from evener.protocols.port import Environment, Log, Progress, Store
from evener.protocols.wire import Announcement


class HarnessRegistry(Protocol):
    """The versions of a run's harness. Committing or refusing the same thing again is free."""

    def start(self, harness: Harness, /) -> str:
        """Make `harness` version v0, or check that it is."""
        ...

    def head(self) -> tuple[str, Harness]:
        """The version in force."""
        ...

    def commit(self, harness: Harness, record: DiffRecord, /) -> str:
        """Store the next version and move HEAD to it; returns its name."""
        ...

    def refuse(self, record: DiffRecord, /) -> str:
        """Keep a patch that was not accepted; returns the name of its record."""
        ...

    def retreat(self, version: str, /, *, reason: str) -> None:
        """Put an earlier version in force again; for the same reason only once."""
        ...


class Guard(Protocol):
    """Knows the texts of tasks and keeps them out of harnesses."""

    def fault(self, patch: Patch, harness: Harness, /) -> str:
        """What the patch repeats, in words; empty where it repeats nothing."""
        ...


class Standing(Wire):
    """Where harness (version, store digest) and model stand between two steps."""

    version: str
    harness: str
    model: ModelRef


@dataclass(frozen=True, kw_only=True)
class Run:
    """The Conductor's own view of its run, handed to each stage."""

    peer: Peer
    environment: Environment
    store: Store
    log: Log
    registry: HarnessRegistry
    plan: Plan
    rollouts: Rollouts
    meter: Meter
    progress: Progress
    background: Background
    guard: Guard

    @contextmanager
    def spending(self, number: int, stage: str) -> Generator[None]:
        """Log what a stage of round `number` used, however it ends."""
        meter = self.meter
        start = (meter.rollouts, meter.calls, meter.completion_tokens, meter.cpu_seconds())
        try:
            yield
        finally:
            self.record(
                "spent",
                {
                    "round": number,
                    "stage": stage,
                    "rollouts": meter.rollouts - start[0],
                    "calls": meter.calls - start[1],
                    "completion_tokens": meter.completion_tokens - start[2],
                    "cpu_seconds": round(meter.cpu_seconds() - start[3], 1),
                },
            )

    def record(self, kind: str, body: JsonObject) -> None:
        """One entry in the run's log."""
        self.log.append(kind, body)

    async def announce(
        self,
        topic: Literal["round", "verdict", "commit", "model", "stop"],
        text: str,
        *,
        round: int,
        iteration: int = 0,
        about: str = "",
    ) -> None:
        """Tell everybody who listens, and the person who watches."""
        self.progress.say(text)
        await self.peer.tell(
            topic,
            Announcement(topic=topic, round=round, iteration=iteration, text=text, about=about),
        )
