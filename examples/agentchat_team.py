"""A run watched in AgentChat's console; run it again on the same folder to go on with it."""

import asyncio
import sys
from pathlib import Path

from autogen_agentchat.base import TaskResult
from autogen_agentchat.ui import Console

from evener import Parts, RunConfig, Team
from evener.agents.agentchat import RunTeam
from evener.config import parse
from evener.report.text import render

SETTINGS = {"gate": {"schedule": "small"}, "plan": {"rounds": 1}}


async def watch(config: RunConfig, out: Path, parts: Parts) -> TaskResult:
    """Show the run's events as they are logged, then its report."""
    team = RunTeam(lambda: Team.open(config, out, parts=parts), report=render)
    return await Console(team.run_stream(task="Improve the shop desk."))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/agentchat_team.py RUN_FOLDER")
    settings = parse(SETTINGS, where=__file__)
    asyncio.run(watch(settings, Path(sys.argv[1]), Parts()))
