"""Start the team from a script; your own environment, model, critic or gate goes in `Parts`."""

import asyncio
import sys
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
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/launch_team.py RUN_FOLDER")
    settings = parse(SETTINGS, where=__file__)
    with watching() as progress:
        print(asyncio.run(launch(settings, Path(sys.argv[1]), Parts(progress=progress))))
