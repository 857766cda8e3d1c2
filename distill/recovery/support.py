"""The tasks on which the recovery of a pattern is asked about, and patterns that come to the same.

All of it is of replicate A alone, so that what is measured in replicate B had no part in it.
"""

from collections.abc import Iterable, Mapping, Sequence

from evener.distill.detectors.sighting import Sighting

LEAST = 10
"""A smaller support is listed and counts for nothing."""
OVERLAP = 0.8
"""Supports with a larger Jaccard index count once."""


def support(base: Iterable[Sighting], optimized: Iterable[Sighting]) -> tuple[str, ...]:
    """The tasks where base + h* shows a pattern and base + h, which had the occasion, does not.

    Raises ValueError where a task comes twice: of two episodes one could be picked.
    """
    bare, dressed = _once(base), _once(optimized)
    return tuple(
        sorted(
            task
            for task, seen in dressed.items()
            if seen.shows and task in bare and bare[task].applies and not bare[task].shows
        )
    )


def jaccard(left: Iterable[str], right: Iterable[str]) -> float:
    """Tasks in both by tasks in either; 0 where there are none."""
    a, b = set(left), set(right)
    return len(a & b) / len(a | b) if a | b else 0.0


def stand_ins(supports: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Which pattern stands for which, in the order given: the first before it, itself no one's,
    whose support overlaps by more than `OVERLAP`; else itself."""
    leaders: list[str] = []
    found: dict[str, str] = {}
    for name, tasks in supports.items():
        like = next((one for one in leaders if jaccard(supports[one], tasks) > OVERLAP), name)
        found[name] = like
        leaders += [name] if like == name else []
    return found


def why_few(base: Sequence[Sighting], optimized: Sequence[Sighting], tasks: Sequence[str]) -> str:
    """What an empty or small support is due to, in words."""
    if tasks:
        return f"support {len(tasks)} is under {LEAST}"
    bare = _once(base)
    shown = [one.task for one in optimized if one.shows]
    both = [bare[task] for task in shown if task in bare]
    if not optimized or not base:
        return "replicate A has no episode"
    if not shown:
        return "base + h* never shows it"
    if both and all(one.shows for one in both):
        return "base + h shows it already wherever base + h* does"
    if any(not one.applies for one in both):
        return "base + h has no occasion for it where base + h* shows it"
    return "replicate A has no task in both arms where base + h* shows it"


def _once(sightings: Iterable[Sighting]) -> dict[str, Sighting]:
    found: dict[str, Sighting] = {}
    for seen in sightings:
        if seen.task in found:
            raise ValueError(f"replicate A has two episodes of the task {seen.task}")
        found[seen.task] = seen
    return found
