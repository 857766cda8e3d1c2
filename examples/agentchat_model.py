"""A run whose student is any `ChatCompletionClient`, named by a component file of AutoGen:

python examples/agentchat_model.py client.json runs/mine
"""

import asyncio
import json
import sys
from pathlib import Path

from autogen_core.models import ChatCompletionClient

from evener import Parts, RunConfig, Team
from evener.agents.agentchat import ClientModel
from evener.config import parse
from evener.report.text import render

SETTINGS = {"plan": {"rounds": 1, "training": {"method": "none"}}}


async def launch(config: RunConfig, out: Path, parts: Parts) -> str:
    """Run the plan in `out`, or go on with it; the report as text."""
    async with Team.open(config, out, parts=parts) as team:
        return render(await team.run())


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python examples/agentchat_model.py CLIENT.json RUN_FOLDER")
    component = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    model = ClientModel(ChatCompletionClient.load_component(component), name=sys.argv[1])
    settings = parse(SETTINGS, where=__file__)
    print(asyncio.run(launch(settings, Path(sys.argv[2]), Parts(model=model))))
