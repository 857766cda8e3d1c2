"""Start the team from a script; your own environment, model, critic or gate goes in `Parts`."""

import asyncio
from pathlib import Path

from evener import Parts, RunConfig, Team
from evener.config import parse
from evener.progress import watching
from evener.report.text import render

SETTINGS = {
    "student": {"model": "embedded"},
    "harness": {"start": "seed"},
    "gate": {"schedule": "small"},
    "plan": {"rounds": 1, "search": {"iterations": 1}, "evaluation": {"test_tasks": 60}},
}


async def launch(config: RunConfig, out: Path, parts: Parts) -> str:
    """Run the plan in `out`, or go on with it; the report as text."""
    async with Team.open(config, out, parts=parts) as team:
        return render(await team.run())


if __name__ == "__main__":
    settings = parse(SETTINGS, where=__file__)
    with watching() as progress:
        print(asyncio.run(launch(settings, Path("runs/scripted"), Parts(progress=progress))))
