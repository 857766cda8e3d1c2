"""A model behind an interface, before a run and after it: can it be reached, does the harness fit
its window, will its budget ever count, and what was used."""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, runtime_checkable

from evener.agents.harness.context import characters
from evener.agents.harness.observation import CHARACTERS_A_TOKEN
from evener.agents.harness.render import opening
from evener.agents.models.remote.model import Journal, RemoteModel
from evener.protocols.error import ConfigError
from evener.protocols.harness import Harness
from evener.protocols.port import Model, Progress


@runtime_checkable
class Served(Protocol):
    """A model on a server that may be our own, which is started, watched and ended."""

    def keep(self, folder: Path, journal: Journal) -> None:
        """Where its log goes, and what becomes of it."""
        ...

    def release(self) -> None:
        """Nothing more is to be written."""
        ...

    def speak(self, say: Callable[[str], None]) -> None:
        """How far it is is said through `say`."""
        ...


async def reach(model: Model, progress: Progress, *, table: str = "student") -> None:
    """Ask the endpoint once which models it offers, and warn of a budget that nothing counts
    against; the model stands in the configuration's `table`. ModelError where it cannot be reached;
    nothing for a model in this process."""
    if not isinstance(model, RemoteModel):
        return
    if isinstance(model, Served):
        model.speak(progress.say)
    await model.check()
    if model.unpriced():
        progress.say(
            f"the price of {model.ref} is unknown, so its budget in USD never ends: give "
            f"{table}.provider.price_in and price_out, or a budget in tokens"
        )


def fits(model: Model, harnesses: Iterable[Harness]) -> None:
    """ConfigError, with both figures, for a harness whose opening and longest reply are more than
    the window that the server told. Tokens of the opening are estimated from its characters."""
    if not isinstance(model, RemoteModel) or model.window is None:
        return
    for harness in harnesses:
        shown = sum(map(characters, opening(harness, "")))
        needed = -(-shown // CHARACTERS_A_TOKEN) + harness.middleware.loop.max_reply_tokens
        if needed > model.window:
            raise ConfigError(
                f"{harness.name} needs about {needed} tokens, and the window of {model.ref} has "
                f"{model.window}",
                where="harness",
                remedy="serve the model with a longer window, or shorten the harness",
            )


@contextmanager
def noted(model: Model, journal: Journal, folder: Path) -> Generator[None]:
    """In this block every call of a model behind an interface is in the run's log, and what the log
    holds already counts against its budget. A server of our own writes into the run's `folder`."""
    if isinstance(model, RemoteModel):
        model.log_to(journal)
    if not isinstance(model, Served):
        yield
        return
    model.keep(folder / "server", journal)
    try:
        yield
    finally:
        model.release()


def farewell(model: Model, progress: Progress) -> None:
    """Say what a model behind an interface used."""
    if isinstance(model, RemoteModel) and model.spending.calls:
        progress.say(model.spending.sentence())
