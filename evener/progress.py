"""Progress on stderr: a live bar on a terminal, one line a stage elsewhere, nothing if quiet."""

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from evener.protocols.port import Progress


class Silent:
    """Says nothing."""

    def stage(self, label: str, *, total: int) -> None:
        """Nothing."""

    def advance(self, steps: int = 1) -> None:
        """Nothing."""

    def say(self, text: str) -> None:
        """Nothing."""


class Lines:
    """Lines with the seconds since the start; a long stage says how far it is every 15 s."""

    def __init__(self, every: float = 15.0) -> None:
        self._start = time.monotonic()
        self._every = every
        self._label, self._total, self._done = "", 0, 0
        self._spoken = 0.0

    def stage(self, label: str, *, total: int) -> None:
        """Name the stage."""
        self._label, self._total, self._done = label, total, 0
        self._write(f"{label} ({total} episodes)" if total else label)

    def advance(self, steps: int = 1) -> None:
        """Count, and say so from time to time."""
        self._done += steps
        if time.monotonic() - self._spoken >= self._every:
            total = f" of {self._total}" if self._total else ""
            self._write(f"  {self._label}: {self._done}{total}")

    def say(self, text: str) -> None:
        """One line."""
        self._write(text)

    def _write(self, text: str) -> None:
        self._spoken = time.monotonic()
        sys.stderr.write(f"[{self._spoken - self._start:6.0f} s] {text}\n")
        sys.stderr.flush()


class Bar:
    """A rich progress bar; what is said scrolls above it."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )
        self._bar.start()
        self._task: Any = None

    def stage(self, label: str, *, total: int) -> None:
        """Begin a bar; the one before it goes."""
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(label, total=total or None)

    def advance(self, steps: int = 1) -> None:
        """Move the bar."""
        if self._task is not None:
            self._bar.advance(self._task, steps)

    def say(self, text: str) -> None:
        """One line above the bar."""
        from rich.text import Text

        self._bar.console.print(Text(text))

    def close(self) -> None:
        """Give the terminal back."""
        self._bar.stop()


@contextmanager
def watching(*, quiet: bool = False) -> Generator[Progress]:
    """The progress that fits where stderr goes, until the block ends."""
    if quiet:
        yield Silent()
    elif sys.stderr.isatty():
        bar = Bar()
        try:
            yield bar
        finally:
            bar.close()
    else:
        yield Lines()
