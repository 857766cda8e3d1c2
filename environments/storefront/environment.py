"""`storefront`: a shop desk whose questions are generated without end; see docs/storefront.md."""

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from evener.environments.storefront.detectors import DETECTORS
from evener.environments.storefront.example import examples
from evener.environments.storefront.gold import solution
from evener.environments.storefront.session import StorefrontSession
from evener.environments.storefront.task import draw, recover
from evener.environments.storefront.world import VERSION
from evener.protocols.digest import digest
from evener.protocols.error import ConfigError
from evener.protocols.message import Call
from evener.protocols.port import Detector, Session, WorkedExample
from evener.protocols.task import Split, Task

HARNESSES: tuple[str, ...] = ("seed", "hand", "target", "optimized")


class Storefront:
    """Stateless: a task's hidden side is generated again from its id."""

    @property
    def name(self) -> str:
        """`storefront`."""
        return "storefront"

    @property
    def digest(self) -> str:
        """Over the generator's version and the sources of generator, actions and verifier."""
        return source_digest(Path(__file__).parent)

    def tasks(self, split: Split, *, count: int, seed: int) -> Sequence[Task]:
        """Endless; calc, price, convert and bill in turn. Raises DataError for count < 1."""
        return draw(split, count=count, seed=seed)

    async def open(self, task: Task, *, seed: int) -> Session:
        """A fresh desk. Nothing about it is random, so `seed` changes nothing. Raises DataError
        where the task is not one of this generator's."""
        return StorefrontSession(recover(task))

    def harness_path(self, name: str) -> Path:
        """The file of a harness that ships with the desk. Raises ConfigError for another name."""
        if name not in HARNESSES:
            raise ConfigError(
                f"storefront ships no harness {name!r}",
                remedy=f"It ships {', '.join(HARNESSES)}; or give the path of a file",
            )
        return Path(__file__).parent / "harnesses" / f"{name}.yaml"

    def examples(self) -> tuple[WorkedExample, ...]:
        """The documentation's worked examples."""
        return examples()

    def detectors(self) -> tuple[Detector, ...]:
        """Those that read the desk's wording."""
        return tuple(DETECTORS.values())

    def gold(self, task: Task) -> tuple[Call, ...]:
        """A right solution, for checks only."""
        return tuple(call for call, _ in solution(recover(task)))


@cache
def source_digest(folder: Path) -> str:
    """Of the Python sources in a folder, of the call check beside it and of the generator's
    version. Line ends do not count, and harness files do not: they decide no score."""
    sources = [*sorted(folder.glob("*.py")), folder.parent / "check.py"]
    contents = {
        source.name: hashlib.sha256(source.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
        for source in sources
    }
    return digest({"version": VERSION, "sources": {**contents}})
