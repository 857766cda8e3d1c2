"""Runs that differ in their seed alone, read as one experiment.

A pair is one task of one run under both cells. Pairs of all runs stand together, clustered by task
where runs share one, and so the intervals cover how tasks vary; how training and search vary is
covered only as far as there are seeds, which is why each run's own difference stands beside.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from evener.agents.record.manifest import Manifest
from evener.agents.record.run import RunFolder
from evener.protocols.error import RunError
from evener.protocols.summary import PooledComparison, PooledSummary, Summary
from evener.report.against import pairs
from evener.report.measured import Measured
from evener.report.pooled import pooled_cell, pooled_comparison
from evener.report.sentence import refused, said
from evener.report.whole import read

NOTABLE = ("python", "torch", "transformers", "trl", "peft")  # what decides a figure beside code


class _Run(NamedTuple):
    """A run as it is pooled: `cells` by split and name."""

    path: Path
    manifest: Manifest
    summary: Summary
    cells: dict[tuple[str, str], Measured]


def pool(runs: Sequence[Path]) -> PooledSummary:
    """The runs in the order of their seeds; finished or not, as far as each has come.

    Raises RunError where two have the same seed, or differ in more than the seed.
    """
    found = sorted((_read(path) for path in runs), key=lambda run: run.summary.seed)
    notes = _alike(found)
    names = list(dict.fromkeys(key for run in found for key in run.cells))
    cells = tuple(
        pooled_cell([run.cells[key] for run in found if key in run.cells]) for key in names
    )
    comparisons: list[PooledComparison] = []
    for split in dict.fromkeys(split for split, _ in names):
        here = [
            {name: one for (where, name), one in run.cells.items() if where == split}
            for run in found
        ]
        made = (
            pooled_comparison(a, b, here)
            for a, b, _ in pairs([name for where, name in names if where == split])
        )
        comparisons += [one for one in made if one is not None]
    seeds = tuple(run.summary.seed for run in found)
    verdicts = found[0].summary.verdicts if len(found) == 1 else ()
    return PooledSummary(
        runs=tuple(run.summary for run in found),
        seeds=seeds,
        cells=cells,
        comparisons=tuple(comparisons),
        cpu_seconds=round(sum(run.summary.budget.cpu_seconds for run in found), 1),
        notes=(*notes, *_missing(found, names), *_refused(found)),
        verdict_sentence=said(cells, comparisons, verdicts, drawn=_drawn(seeds, comparisons)),
    )


def _drawn(seeds: Sequence[int], comparisons: Sequence[PooledComparison]) -> str:
    """The seeds that the figure of the whole against its beginning stands on."""
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    whole = {c.a: c for c in comparisons if (c.b, c.split) == ("base+seed", "test")}
    figure = whole.get("trained+evolved") or whole.get("base+evolved")
    if figure is None or len(figure.seeds) == len(seeds):
        return f"{len(seeds)} seeds pooled"
    return f"{len(figure.seeds)} of {len(seeds)} seeds"


def _read(path: Path) -> _Run:
    with RunFolder.read(path) as folder:
        summary, found = read(folder)
        cells = {(one.cell.split, one.cell.name): one for one in found}
        return _Run(path, folder.manifest, summary, cells)


def _alike(runs: Sequence[_Run]) -> list[str]:
    """What else differs that a reader should know. RunError for what makes pooling meaningless."""
    notes: list[str] = []
    first = runs[0]
    for before, run in pairwise(runs):
        if before.summary.seed == run.summary.seed:
            raise RunError(
                f"has the seed of {before.path} ({run.summary.seed}): its tasks would count twice",
                where=str(run.path),
                remedy="give runs with seeds of their own",
            )
        changes = _seedless(first.manifest).changes(_seedless(run.manifest))
        other = [change for change in changes if not change.startswith("code")]
        if other:
            raise RunError(
                f"differs from {first.path} in more than its seed: {'; '.join(other[:3])}",
                where=str(run.path),
                remedy="pool runs of one configuration",
            )
        notes += [f"seed {run.summary.seed} was run by other code: {c}" for c in changes]
        libraries = first.manifest.library_changes(run.manifest)
        notes += [
            f"seed {run.summary.seed} was run with another {change}"
            for change in libraries
            if change.split(":")[0] in NOTABLE
        ]
    return notes


def _seedless(manifest: Manifest) -> Manifest:
    plan = manifest.config.get("plan")
    config = dict(manifest.config)
    if isinstance(plan, dict):
        config["plan"] = {key: value for key, value in plan.items() if key != "seed"}
    return manifest.model_copy(update={"config": config, "seeds": {}})


def _missing(runs: Sequence[_Run], names: Sequence[tuple[str, str]]) -> list[str]:
    """Cells that some run has and another has not: what is pooled of them leaves that run out."""
    notes: list[str] = []
    for run in runs:
        absent = [f"{name} on {split}" for split, name in names if (split, name) not in run.cells]
        if absent:
            notes.append(
                f"seed {run.summary.seed} ({run.summary.state}) has no {', '.join(absent)}"
            )
    return notes


def _refused(runs: Sequence[_Run]) -> list[str]:
    if len(runs) == 1:
        return []
    said = ((run.summary.seed, refused(run.summary.verdicts)) for run in runs)
    return [f"seed {seed}: {text}" for seed, text in said if text]
