"""`math`: exact answers, a Python tool, and scoring that cannot hang; see docs/math.md."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from evener.environments.math.collected import Collected
from evener.environments.math.example import examples
from evener.environments.math.generated import Generated
from evener.environments.math.interpreter import Interpreters, Sandboxed
from evener.environments.math.problem import ProblemSet
from evener.environments.math.session import TIMEOUT_S, MathSession, extracted
from evener.environments.scoring import Checker
from evener.protocols.digest import digest
from evener.protocols.error import ConfigError
from evener.protocols.message import Call
from evener.protocols.port import Session, WorkedExample
from evener.protocols.task import Split, Task

HARNESSES: tuple[str, ...] = ("seed", "tir")


class MathEnvironment:
    """Problems are generated, or come from a source for each split (a file or a hub id)."""

    def __init__(
        self,
        sources: Mapping[Split, str] | None = None,
        *,
        fields: Mapping[str, str] | None = None,
        encoding: str = "utf-8",
        timeout_s: float = TIMEOUT_S,
        interpreters: Interpreters | None = None,
        checker: Checker | None = None,
    ) -> None:
        if not 0 < timeout_s <= 3600:
            raise ConfigError(
                f"a timeout of {timeout_s:g} seconds",
                where="math.timeout_s",
                remedy="Give between 0 and 3600",
            )
        self._checker = checker or Checker()
        self._timeout_s = timeout_s
        self._interpreters = interpreters or Sandboxed()
        self._problems: ProblemSet = (
            Collected(sources, checker=self._checker, fields=fields, encoding=encoding)
            if sources
            else Generated()
        )

    @property
    def name(self) -> str:
        """`math`."""
        return "math"

    @property
    def digest(self) -> str:
        """Over the problems, the sources of generator, actions and verifier, and the time a call
        of Python has."""
        return digest(
            {
                "problems": self._problems.digest,
                "code": code_digest(Path(__file__).parent),
                "timeout_s": self._timeout_s,
            }
        )

    def tasks(self, split: Split, *, count: int, seed: int) -> Sequence[Task]:
        """Endless where problems are generated, kinds in turn; else a sample of the split. Raises
        DataError where there are too few."""
        drawn = self._problems.draw(split, count=count, seed=seed)
        return tuple(problem.task() for problem in drawn)

    async def open(self, task: Task, *, seed: int) -> Session:
        """An episode with an interpreter of its own. Nothing about it is random. Raises DataError
        for a task of other problems, SandboxError where the protection is less than required."""
        problem = self._problems.find(task)
        return MathSession(
            problem,
            checker=self._checker,
            interpreters=self._interpreters,
            level=await self._interpreters.ready(),
            timeout_s=self._timeout_s,
        )

    def examples(self) -> tuple[WorkedExample, ...]:
        """The documentation's worked examples, of generated problems that no split has."""
        return examples()

    def gold(self, task: Task) -> tuple[Call, ...]:
        """A right solution, for checks only."""
        problem = self._problems.find(task)
        final = Call(name="final", arguments={"answer": problem.answer})
        if problem.program is None:
            return (final,)
        return (Call(name="python", arguments={"code": problem.program}), final)

    async def same(self, left: str, right: str) -> bool:
        """Whether two answers as they were handed in are one; False where nobody can say."""
        one, other = extracted(left).answer, extracted(right).answer
        if one is None or other is None:
            return one is other
        return await self._checker.same(one, other)

    def harness_path(self, name: str) -> Path:
        """The file of a harness that ships. Raises ConfigError for another name."""
        if name not in HARNESSES:
            raise ConfigError(
                f"math ships no harness {name!r}",
                remedy=f"It ships {', '.join(HARNESSES)}; or give the path of a file",
            )
        return Path(__file__).parent / "harnesses" / f"{name}.yaml"

    def close(self) -> None:
        """End the processes of the verifier; they end with the environment too."""
        self._checker.close()


@cache
def code_digest(folder: Path) -> str:
    """Of the Python sources of generator, session and verifier. Line ends do not count, and harness
    files do not: they decide no score."""
    verifier = folder.parent / "scoring"
    sources = [*sorted(folder.rglob("*.py")), *sorted(verifier.glob("*.py"))]
    return digest(
        {
            str(source.relative_to(folder.parent)): hashlib.sha256(
                source.read_bytes().replace(b"\r\n", b"\n")
            ).hexdigest()
            for source in [*sources, folder.parent / "check.py"]
        }
    )
