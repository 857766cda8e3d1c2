"""What a person sees while a model is fetched: on standard error, and short."""

import contextlib
import sys
from collections.abc import Generator

from evener.agents.models.local.fetch import Arrival


def say(line: str) -> None:
    """One line on standard error."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


@contextlib.contextmanager
def bar(title: str) -> Generator[Arrival]:
    """A bar of megabytes on standard error; without a terminal, one line at the start."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        say(title)
        yield lambda _arrived, _expected: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task(title, total=None)
        yield lambda arrived, expected: progress.update(task, completed=arrived, total=expected)
