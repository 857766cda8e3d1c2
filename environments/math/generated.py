"""Problems without end and without a download: a pure function of (split, seed, index).

Splits share no problem by construction: the numbers of a kind belong to the one split that their
hash points to, or to the documentation's examples, and `ood` has kinds of its own.
"""

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from evener.environments.math.kinds import OOD, USUAL
from evener.environments.math.kinds.kind import Kind, Made
from evener.environments.math.problem import Problem
from evener.protocols.digest import digest
from evener.protocols.error import DataError
from evener.protocols.task import Split, Task

VERSION = 1
MOST_TRIES = 10_000

Part: TypeAlias = Split | Literal["example"]

_OWNERS: tuple[Part, ...] = (Split.MINE, Split.HELD_IN, Split.HELD_OUT, Split.TEST, "example")
_ID = re.compile(r"math-(mine|held_in|held_out|test|ood)-(-?\d{1,20})-(\d{1,9})", re.ASCII)


class Generated:
    """The problem set that ships. Kinds take turns, so that any draw is even."""

    @property
    def digest(self) -> str:
        """Of the generator's version and the kinds."""
        return digest({"version": VERSION, "kinds": [*USUAL], "ood": [*OOD]})

    def draw(self, split: Split, *, count: int, seed: int) -> Sequence[Problem]:
        """No problem twice in a draw; a longer draw begins with the shorter one. Raises DataError
        for less than one."""
        if count < 1:
            raise DataError(
                f"{count} problems of the split {split.value} were asked for",
                where="math",
                remedy="Ask for at least one",
            )
        kinds = len(kinds_of(split))
        ahead = list(range(kinds))
        seen: set[str] = set()
        given: list[Problem] = []
        for position in range(count):
            turn = position % kinds
            made = problem(split, seed, ahead[turn])
            for _ in range(MOST_TRIES):
                if made.prompt not in seen:
                    break
                ahead[turn] += kinds
                made = problem(split, seed, ahead[turn])
            else:
                raise DataError(
                    f"the kind {made.kind} has fewer than {count // kinds} problems",
                    where=f"math, split {split.value}",
                    remedy="Ask for fewer",
                )
            ahead[turn] += kinds
            seen.add(made.prompt)
            given.append(made)
        return tuple(given)

    def find(self, task: Task) -> Problem:
        """Made again from the id, and refused where its text is another."""
        found = _ID.fullmatch(task.id)
        if found is not None:
            made = problem(Split(found[1]), int(found[2]), int(found[3]))
            if made.task() == task:
                return made
        raise DataError(
            "the task is not one that this generator makes for that id",
            where=f"math task {task.id[:60]!r}",
            remedy="Draw it again with tasks(); a task of another version cannot be scored",
        )


def kinds_of(split: Split) -> Mapping[str, Kind]:
    """The kinds of a split, in their turn."""
    return OOD if split is Split.OOD else USUAL


def problem(split: Split, seed: int, index: int) -> Problem:
    """The problem at `index` of a seed."""
    kinds = kinds_of(split)
    kind = [*kinds][index % len(kinds)]
    made = drawn(split, kind, f"{seed}/{index}")
    return Problem(
        id=f"math-{split.value}-{seed}-{index}",
        split=split,
        kind=kind,
        prompt=made.prompt,
        answer=made.answer,
        program=made.program,
    )


def drawn(part: Part, kind: str, seed: str) -> Made:
    """A problem of a kind whose numbers belong to a part; equal arguments give equal problems."""
    draw = random.Random(f"math/{VERSION}/{part}/{kind}/{seed}")
    make = OOD[kind] if kind in OOD else USUAL[kind]
    made = make(draw)
    while owner(kind, made) != part:
        made = make(draw)
    return made


def owner(kind: str, made: Made) -> Part:
    """The one part whose problems may have these numbers."""
    if kind in OOD:
        return Split.OOD
    text = f"{kind}:{','.join(str(number) for number in made.numbers)}"
    return _OWNERS[hashlib.sha256(text.encode()).digest()[0] % len(_OWNERS)]
