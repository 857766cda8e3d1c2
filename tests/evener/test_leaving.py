"""What is left of a team when its run is cancelled."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from evener.agents.models.scripted import ScriptedModel
from evener.config import RunConfig
from evener.parts import Parts
from evener.protocols.model import Reply, Request
from evener.team import Team


class Slow:
    """Never gets to answer."""

    def __init__(self, model: ScriptedModel) -> None:
        self.ref = model.ref
        self.asked = asyncio.Event()

    async def complete(self, request: Request) -> Reply:
        self.asked.set()
        await asyncio.sleep(3600)
        raise AssertionError(request)

    async def close(self) -> None:
        pass


async def test_a_cancelled_run_leaves_no_episode_behind(
    config: RunConfig, desk: Any, hire: Any, tmp_path: Path
) -> None:
    model = Slow(hire(desk))
    before = asyncio.all_tasks()

    async def whole() -> None:
        async with Team.open(
            config, tmp_path / "run", parts=Parts(environment=desk, model=model)
        ) as team:
            await team.run()

    running = asyncio.create_task(whole())
    await model.asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    # the episodes were shielded from whoever waited for them
    assert asyncio.all_tasks() - before == set()
