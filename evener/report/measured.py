"""The sealed cells of a run as its log and store have them: figures, and rewards to pair.

A resumed run logs a cell again; the last entry of a name counts, CPU-seconds add up.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from evener.protocols.digest import JsonObject
from evener.protocols.port import Store
from evener.protocols.summary import Cell, Comparison
from evener.protocols.trajectory import Trajectory
from evener.report.against import pairs
from evener.report.cell import cell, difference, rewards


class Measured(NamedTuple):
    """A cell, the digests of its episodes, and the reward of each scored task."""

    cell: Cell
    episodes: tuple[str, ...]
    rewards: dict[str, float]


def measured(entries: Iterable[JsonObject], store: Store, *, seed: int) -> tuple[Measured, ...]:
    """From the log's `cell` entries. One cell's episodes are in memory at a time."""
    last: dict[tuple[str, str], JsonObject] = {}
    cpu: dict[tuple[str, str], float] = defaultdict(float)
    for entry in entries:
        key = (str(entry["split"]), str(entry["name"]))
        last[key] = entry
        seconds = entry["cpu_seconds"]
        assert isinstance(seconds, int | float)
        cpu[key] += seconds
    return tuple(
        _one(entry, store, seed=seed, cpu_seconds=round(cpu[key], 1)) for key, entry in last.items()
    )


def comparisons(found: Sequence[Measured], *, seed: int) -> tuple[Comparison, ...]:
    """Every declared difference. Two names of the same episodes are no comparison."""
    made: list[Comparison] = []
    for split in dict.fromkeys(one.cell.split for one in found):
        here = {one.cell.name: one for one in found if one.cell.split == split}
        values = {name: one.rewards for name, one in here.items()}
        made += [
            difference(values, a, b, split=split, seed=seed)
            for a, b, _ in pairs(here)
            if here[a].episodes != here[b].episodes
        ]
    return tuple(made)


def _one(entry: JsonObject, store: Store, *, seed: int, cpu_seconds: float) -> Measured:
    digests = _digests(entry["episodes"])
    episodes = [store.get(Trajectory, digest) for digest in digests]
    spent = None
    if "spent" in entry:
        spent = [store.get(Trajectory, digest) for digest in _digests(entry["spent"])]
    figures = cell(
        episodes,
        name=str(entry["name"]),
        model=str(entry["model"]),
        harness=str(entry["harness"]),
        split=str(entry["split"]),
        seed=seed,
        cpu_seconds=cpu_seconds,
        spent=spent,
    )
    return Measured(figures, digests, rewards(episodes))


def _digests(value: object) -> tuple[str, ...]:
    assert isinstance(value, list)
    return tuple(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
