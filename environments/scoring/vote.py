"""A majority among answers however they are written: those that are equal are one vote."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Same: TypeAlias = Callable[[str, str], Awaitable[bool]]
"""Whether two answers are equal, as an environment says. Where nobody can tell they are not."""


@dataclass(frozen=True)
class Candidate:
    """Answers that are equal: the first of them as it was written, and where they all stand."""

    answer: str
    voters: tuple[int, ...]


async def candidates(answers: Sequence[str | None], same: Same) -> tuple[Candidate, ...]:
    """The different answers, those with most votes first, and among equals the one that was given
    first. None is no vote. An answer is compared with the first of each candidate."""
    found: list[tuple[str, list[int]]] = []
    known: dict[str, list[int]] = {}
    for voter, answer in enumerate(answers):
        if answer is None:
            continue
        if answer not in known:
            known[answer] = await _voters(answer, found, same)
        known[answer].append(voter)
    ordered = sorted(found, key=lambda each: (-len(each[1]), each[1][0]))
    return tuple(Candidate(answer, tuple(voters)) for answer, voters in ordered)


async def majority(answers: Sequence[str | None], same: Same) -> Candidate | None:
    """The candidate with most votes; None where nobody gave an answer."""
    return next(iter(await candidates(answers, same)), None)


async def _voters(answer: str, found: list[tuple[str, list[int]]], same: Same) -> list[int]:
    """Of the candidate that an answer is, which may be a new one."""
    for first, voters in found:
        if await same(first, answer):
            return voters
    voters = list[int]()
    found.append((answer, voters))
    return voters
