"""What the front hands to the worker thread: a request with the future of its reply."""

from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from evener.agents.models.local.row import Row
from evener.protocols.model import ModelRef, Reply, Request


@dataclass(eq=False)
class Job:
    """A request for `ref`; `row` is there while it is being generated."""

    request: Request
    ref: ModelRef
    reply: "Future[Reply]" = field(default_factory=Future["Reply"])
    row: Row | None = None
    steps_waited: int = 0


@dataclass(eq=False)
class Loading:
    """An adapter to check and load."""

    name: str
    folder: Path
    loaded: "Future[ModelRef]" = field(default_factory=Future["ModelRef"])
