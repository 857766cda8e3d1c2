"""Problems from files: a source a split, read once, disjoint and with answers that can be compared.

A source that is named for several splits is shared out among them by a hash of the problem's text.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence

from evener.environments.math.overlap import refuse_overlaps
from evener.environments.math.problem import Problem
from evener.environments.math.source import place, records
from evener.environments.record import Record, normalized
from evener.environments.scoring import Checker
from evener.protocols.digest import digest
from evener.protocols.error import ConfigError, DataError
from evener.protocols.task import Split, Task

# What says that an answer is at fault, and not the machine on this day.
_FAULTS = ("gold_not_read", "too_large", "too_long", "too_deep", "not_worked_out")


class Collected:
    """Finite: a draw is a sample without repeats. Raises DataError for any fault of any source."""

    def __init__(
        self,
        sources: Mapping[Split, str],
        *,
        checker: Checker,
        fields: Mapping[str, str] | None = None,
        encoding: str = "utf-8",
    ) -> None:
        if not sources:
            raise ConfigError("no source of problems is given", where="math")
        self._sources = dict(sources)
        problems: list[Problem] = []
        for source in dict.fromkeys(sources[split] for split in Split if split in sources):
            splits = [split for split in Split if sources.get(split) == source]
            found = records(source, fields=fields, encoding=encoding)
            problems += [_problem(record, source, splits) for record in found]
        _unique(problems)
        refuse_overlaps(problems)
        _readable(problems, checker)
        self._problems = {problem.id: problem for problem in problems}
        self._digest = digest([[p.id, p.split, p.prompt, p.answer] for p in problems])

    @property
    def digest(self) -> str:
        """Over the problems and their answers, not the files' bytes."""
        return self._digest

    def draw(self, split: Split, *, count: int, seed: int) -> Sequence[Problem]:
        """A sample of the split. Raises DataError where it has fewer than `count`."""
        pool = [problem for problem in self._problems.values() if problem.split is split]
        if 1 <= count <= len(pool):
            return tuple(random.Random(f"{split.value}/{seed}").sample(pool, count))
        named = self._sources.get(split)
        raise DataError(
            f"the split {split.value} has {len(pool)} problems, {count} were asked for",
            where=named or "math",
            remedy="Ask for between 1 and that many"
            if named
            else f"Name a source for it: {split.value} = FILE",
        )

    def find(self, task: Task) -> Problem:
        """By id; the text has to be the same."""
        found = self._problems.get(task.id)
        if found is None or found.task() != task:
            raise DataError(
                f"the task {task.id[:60]!r} is not in the sources as they are now",
                where="math",
                remedy="Draw it again with tasks()",
            )
        return found


def _problem(record: Record, source: str, splits: Sequence[Split]) -> Problem:
    hashed = hashlib.sha256(normalized(record.prompt).encode("utf-8", "surrogatepass")).digest()
    return Problem(
        id=record.id,
        split=splits[int.from_bytes(hashed[:4], "big") % len(splits)],
        kind="",
        prompt=record.prompt,
        answer=str(record.answer),
        place=place(source, record.line),
    )


def _unique(problems: Sequence[Problem]) -> None:
    seen: dict[str, Problem] = {}
    for problem in problems:
        first = seen.setdefault(problem.id, problem)
        if first is not problem:
            raise DataError(
                f"{first.place} and {problem.place} have the same id {problem.id!r}",
                where="math",
                remedy="Give every problem an id of its own",
            )


def _readable(problems: Sequence[Problem], checker: Checker) -> None:
    for problem in problems:
        why = checker.unreadable(problem.answer)
        if why in _FAULTS:
            raise DataError(
                f"the answer {problem.answer[:60]!r} cannot be read as mathematics ({why})",
                where=problem.place,
                remedy="Write one exact answer in LaTeX, without words round it",
            )
