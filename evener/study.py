"""Several seeds of one plan, each a run of its own with its arms, and the page about all of them.

    OUT/seed-0/ …   runs        OUT/results.md, OUT/pooled.json   what they say together

A seed that is done is not paid for again; seeds may also be run side by side by several processes,
each its own, on one folder.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from evener.agents.record.atomic import write_atomically
from evener.agents.record.manifest import Manifest
from evener.config import RunConfig
from evener.matrix.run import matrix
from evener.parts import Parts
from evener.pool import pool
from evener.protocols.summary import PooledSummary
from evener.report.markdown import page
from evener.team import Team

Planned = Callable[[int], RunConfig]


async def study(
    planned: Planned,
    out: Path,
    *,
    seeds: Sequence[int],
    arms: Sequence[str],
    command: str,
    parts: Callable[[], Parts],
) -> PooledSummary:
    """Run every seed's plan with `arms` beside it, then pool what `out` holds by now. `parts` are
    made anew for each run."""
    for seed in seeds:
        folder = out / f"seed-{seed}"
        made = parts()
        made.progress.say(f"seed {seed}: {folder}")
        async with Team.open(planned(seed), folder, parts=made) as team:
            if team.folder.resumed:
                made.progress.say(f"going on with {folder}")
            await team.run()
        if arms:
            await matrix(folder, only=arms, parts=parts())
    return report(out, command=command)


def report(out: Path, *, command: str) -> PooledSummary:
    """Pool the seeds that are there, as far as each has come, and write the page."""
    numbered = {run: run.name.removeprefix("seed-") for run in out.glob("seed-*")}
    runs = [
        run
        for run, number in numbered.items()
        if number.isdecimal() and (run / "manifest.json").exists()
    ]
    runs.sort(key=lambda run: int(numbered[run]))
    pooled = pool(runs)
    manifest = Manifest.load(runs[0] / "manifest.json")
    write_atomically(out / "pooled.json", pooled.model_dump_json(indent=1) + "\n")
    write_atomically(out / "results.md", page(pooled, manifest, command=command))
    return pooled
