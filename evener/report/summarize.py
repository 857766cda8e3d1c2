"""`summary.json` from a run's log and store: nothing in it comes from anywhere else.

A resumed run logs a stage again; the last entry of a name counts, CPU-seconds add up.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from evener.protocols.digest import JsonObject
from evener.protocols.port import Store
from evener.protocols.summary import Cell, Comparison, RoleUse, Rows, VerdictLine
from evener.protocols.trajectory import Trajectory
from evener.protocols.verdict import Ruling, Verdict
from evener.report.cell import cell, compare

AGAINST = (
    ("base+evolved", "base+seed"),
    ("base+hand", "base+seed"),
    ("base+evolved", "base+hand"),
    ("trained+evolved", "base+seed"),
    ("trained+evolved", "base+evolved"),
    ("trained+evolved", "base+hand"),
    ("trained+evolved", "trained+seed"),
)


def figures(
    entries: Iterable[JsonObject], store: Store, *, seed: int
) -> tuple[tuple[Cell, ...], tuple[Comparison, ...]]:
    """Cells and comparisons from the log's `cell` entries."""
    last: dict[tuple[str, str], JsonObject] = {}
    spent: dict[tuple[str, str], float] = defaultdict(float)
    for entry in entries:
        key = (str(entry["split"]), str(entry["name"]))
        last[key] = entry
        spent[key] += _number(entry["cpu_seconds"])
    cells: list[Cell] = []
    bodies: dict[str, dict[str, Sequence[Trajectory]]] = defaultdict(dict)
    for (split, name), entry in last.items():
        digests = entry["episodes"]
        assert isinstance(digests, list)
        trajectories = [store.get(Trajectory, str(digest)) for digest in digests]
        bodies[split][name] = trajectories
        cells.append(
            cell(
                trajectories,
                name=name,
                model=str(entry["model"]),
                harness=str(entry["harness"]),
                split=split,
                seed=seed,
                cpu_seconds=round(spent[split, name], 1),
            )
        )
    comparisons = [
        compare(found, a, b, split=split, seed=seed)
        for split, found in bodies.items()
        for a, b in AGAINST
        if a in found and b in found
    ]
    return tuple(cells), tuple(comparisons)


def verdict_lines(entries: Iterable[JsonObject], store: Store) -> tuple[VerdictLine, ...]:
    """One line for each trial, in the order they were decided."""
    last = {(entry["round"], entry["iteration"], entry["patch"]): entry for entry in entries}
    return tuple(_line(entry, store.get(Verdict, str(entry["verdict"]))) for entry in last.values())


def _line(entry: JsonObject, verdict: Verdict) -> VerdictLine:
    inside, outside = verdict.delta_in, verdict.delta_out
    return VerdictLine(
        round=int(_number(entry["round"])),
        iteration=int(_number(entry["iteration"])),
        patch=str(entry["patch"]),
        kind=verdict.kind,
        author=str(entry["author"]),
        outcome=verdict.ruling,
        delta_in=inside.value if inside else None,
        delta_in_low=inside.low if inside else None,
        delta_in_high=inside.high if inside else None,
        delta_out=outside.value if outside else None,
        delta_out_low=outside.low if outside else None,
        delta_out_high=outside.high if outside else None,
        n_in=inside.n if inside else 0,
        n_out=outside.n if outside else 0,
        coverage=verdict.coverage,
        rollouts=verdict.rollouts,
        reason=verdict.reason,
    )


def rows(entries: Iterable[JsonObject]) -> Rows:
    """Training rows over all rounds."""
    last = {entry["round"]: entry for entry in entries}
    refused: Counter[str] = Counter()
    for entry in last.values():
        counts = entry["refused"]
        assert isinstance(counts, dict)
        refused.update({reason: int(_number(count)) for reason, count in counts.items()})
    accepted = sum(int(_number(entry["rows"])) for entry in last.values())
    return Rows(accepted=accepted, refused=dict(refused))


def student_use(trajectories: Iterable[Trajectory]) -> RoleUse:
    """What the student's episodes cost; calls answered from the cache cost nothing."""
    calls = tokens = 0
    seconds = 0.0
    for trajectory in trajectories:
        calls += trajectory.usage.calls
        tokens += trajectory.usage.completion_tokens
        seconds += trajectory.usage.seconds
    return RoleUse(calls=calls, tokens=tokens, seconds=round(seconds, 1))


def sentence(
    cells: Sequence[Cell],
    comparisons: Sequence[Comparison],
    verdicts: Sequence[VerdictLine] = (),
) -> str:
    """The run's result in words; no gain is claimed whose interval touches 0, and a model that the
    gate did not accept is called so."""
    rates: Mapping[str, Cell] = {c.name: c for c in cells if c.split == "test"}
    against = {(c.a, c.b): c for c in comparisons if c.split == "test"}
    best = next((n for n in ("trained+evolved", "base+evolved") if n in rates), None)
    if best is None or "base+seed" not in rates:
        return "The sealed test was not run."
    found = against[best, "base+seed"]
    if not found.n:
        return "No sealed task was scored for both, so there is nothing to compare."
    start, end = rates["base+seed"], rates[best]
    if found.low > 0:
        claim = "a gain"
    elif found.high < 0:
        claim = "a loss"
    else:
        claim = "no difference that this many tasks can tell from chance"
    return (
        f"On {end.n} sealed tasks {best} solves {end.rate:.0%} and base+seed {start.rate:.0%}: "
        f"{claim} ({found.difference * 100:+.0f} points, 95 % interval "
        f"{found.low * 100:+.0f} to {found.high * 100:+.0f}, paired, seed {end.seed})."
        f"{_refused(best, verdicts)}"
    )


def _refused(best: str, verdicts: Sequence[VerdictLine]) -> str:
    last = next((line for line in reversed(verdicts) if line.kind == "model"), None)
    if not best.startswith("trained") or last is None or last.outcome is Ruling.ACCEPT:
        return ""
    return f" The gate did not accept {last.patch} ({last.outcome}): the model before it stays."


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)
