import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evener.agents.models.scripted import ScriptedModel
from evener.config import RunConfig
from evener.parts import Parts
from evener.protocols.summary import PooledSummary
from evener.study import study

Hire = Callable[[Any], ScriptedModel]


async def test_seeds_are_runs_of_their_own_and_are_read_together(
    config: RunConfig, new_desk: Any, hire: Hire, tmp_path: Path
) -> None:
    models: list[ScriptedModel] = []

    def parts() -> Parts:
        desk = new_desk()
        models.append(hire(desk))
        return Parts(environment=desk, model=models[-1])

    def planned(seed: int) -> RunConfig:
        return config.model_copy(update={"plan": config.plan.model_copy(update={"seed": seed})})

    async def both(*seeds: int) -> PooledSummary:
        return await study(
            planned,
            tmp_path,
            seeds=seeds,
            arms=(),
            command="evener demo --seeds 2",
            parts=parts,
        )

    await both(0)
    pooled = await both(0, 1)
    assert pooled.seeds == (0, 1)
    cells = {cell.name: cell for cell in pooled.cells if cell.split == "test"}
    assert cells["base+seed"].n == 2 * config.plan.evaluation.test_tasks
    assert models[1].requests == []  # seed 0 was done
    assert models[2].requests
    page = (tmp_path / "results.md").read_text("utf-8")
    assert "`evener demo --seeds 2`" in page
    assert pooled.verdict_sentence in page.replace("\\", "")
    stored = json.loads((tmp_path / "pooled.json").read_text("utf-8"))
    assert stored == pooled.document()
