"""Do two splits hold the same problem, word for word or nearly?

Two problems overlap where their words are the same, or where most runs of eight words of the
shorter are in the longer. A run that occurs in many problems is a phrase of contests and shows
nothing by itself; where nearly all runs of a problem are in another it is a copy all the same, and
up to `PHRASE` copies are found.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from evener.environments.math.problem import Problem
from evener.environments.record import normalized
from evener.protocols.error import DataError

RUN = 8
SHARE = 0.5
COMMON = 5
COPY = 0.8
PHRASE = 1000  # problems with one run: more are not looked at one by one


@dataclass(frozen=True)
class Overlap:
    """Two problems of different splits; `share` of the shorter one's runs are in the other, 1 where
    they ask the same."""

    first: Problem
    second: Problem
    share: float


def overlaps(problems: Sequence[Problem], *, share: float = SHARE) -> tuple[Overlap, ...]:
    """Every pair of different splits that overlaps, in the order of the problems."""
    words = [normalized(problem.prompt).split() for problem in problems]
    runs = [_runs(each) for each in words]
    frequency = Counter(run for each in runs for run in each)
    holders: dict[str, list[int]] = defaultdict(list)
    found: list[Overlap] = []
    for at, problem in enumerate(problems):
        telling: Counter[int] = Counter()
        every: Counter[int] = Counter()
        for run in runs[at]:
            if frequency[run] <= PHRASE:
                every.update(holders[run])
            # what two problems share may be said twice, and a problem may stand in several splits
            if frequency[run] <= COMMON:
                telling.update(holders[run])
            holders[run].append(at)
        for before, count in sorted(every.items()):
            other = problems[before]
            if other.split is problem.split:
                continue
            least = min(_telling(runs[at], frequency), _telling(runs[before], frequency))
            part = telling[before] / max(1, least)
            whole = count / min(len(runs[at]), len(runs[before]))
            if words[at] == words[before]:
                part = 1.0
            if part >= share or whole >= COPY:
                found.append(Overlap(other, problem, min(1.0, max(part, whole))))
    return tuple(found)


def refuse_overlaps(problems: Sequence[Problem]) -> None:
    """Raises DataError that names both places of the first overlap, and how many there are."""
    found = _same(problems) or overlaps(problems)
    if not found:
        return
    first = found[0]
    how = "ask the same" if first.share == 1.0 else f"share {first.share:.0%} of their words' runs"
    more = f"; {len(found) - 1} more pairs overlap" if len(found) > 1 else ""
    raise DataError(
        f"{first.first.place} (split {first.first.split.value}) and {first.second.place} (split "
        f"{first.second.split.value}) {how}{more}",
        where="math",
        remedy="Take one of each pair out: a problem seen in training proves nothing",
    )


def _same(problems: Sequence[Problem]) -> tuple[Overlap, ...]:
    seen: dict[str, Problem] = {}
    found: list[Overlap] = []
    for problem in problems:
        earlier = seen.setdefault(normalized(problem.prompt), problem)
        if earlier.split is not problem.split:
            found.append(Overlap(earlier, problem, 1.0))
    return tuple(found)


def _runs(words: list[str]) -> frozenset[str]:
    if len(words) < RUN:
        return frozenset([" ".join(words)])
    return frozenset(" ".join(words[at : at + RUN]) for at in range(len(words) - RUN + 1))


def _telling(runs: frozenset[str], frequency: Counter[str]) -> int:
    return sum(frequency[run] <= COMMON for run in runs)
