import asyncio
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evener.agents.models.scripted import ScriptedModel
from evener.agents.plan import Budget
from evener.agents.record.registry import Registry
from evener.agents.record.run import RunFolder
from evener.config import RunConfig
from evener.environments.storefront import Storefront
from evener.parts import Parts
from evener.protocols.error import DataError, InfraError, RunError
from evener.protocols.summary import Summary
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.verdict import Ruling
from evener.report.text import render
from evener.team import Team

Hire = Callable[[Any], ScriptedModel]
Whole = Callable[..., Awaitable[Summary]]


@pytest.fixture
def whole(hire: Hire) -> Whole:
    async def run(config: RunConfig, desk: Any, out: Path) -> Summary:
        parts = Parts(environment=desk, model=hire(desk))
        async with Team.open(config, out, parts=parts) as team:
            return await team.run()

    return run


async def test_a_round_finds_the_missing_skills_and_the_sealed_test_shows_it(
    whole: Whole, config: RunConfig, desk: Any, tmp_path: Path
) -> None:
    summary = await whole(config, desk, tmp_path / "run")
    cells = {cell.name: cell for cell in summary.cells if cell.split == "test"}
    assert cells["base+seed"].solved == 3  # calc alone, a quarter of the tasks
    assert cells["base+evolved"].solved == 12
    assert cells["base+hand"].n == 12
    assert any(line.outcome is Ruling.ACCEPT for line in summary.verdicts)
    gain = next(c for c in summary.comparisons if (c.a, c.b) == ("base+evolved", "base+seed"))
    assert gain.low > 0
    assert "a gain" in summary.verdict_sentence
    assert summary.state == "finished"
    stored = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert Summary.model_validate_json(json.dumps(stored)) == summary
    assert summary.verdict_sentence in render(summary)


async def test_the_registry_has_the_accepted_version_and_what_was_turned_down(
    whole: Whole, config: RunConfig, desk: Any, tmp_path: Path
) -> None:
    await whole(config, desk, tmp_path / "run")
    registry = Registry(tmp_path / "run" / "harness")
    assert registry.head()[0] == "v1"
    (accepted,) = registry.diffs("v1")
    assert accepted.verdict is not None
    assert accepted.verdict.delta_in is not None
    assert accepted.attributions
    assert all(a.evidence.quote for a in accepted.attributions)
    refused = registry.not_accepted()
    assert refused
    assert all(record.verdict is not None or record.fault for record in refused.values())


async def test_sealed_splits_are_run_for_figures_alone_and_only_after_the_search(
    whole: Whole, config: RunConfig, desk: Any, tmp_path: Path
) -> None:
    await whole(config, desk, tmp_path / "run")
    with RunFolder.read(tmp_path / "run") as folder:
        rows = list(folder.record.trajectories())
        sealed = [row.split in (Split.TEST, Split.OOD) for row in rows]
        assert sealed == sorted(sealed)
        for row in rows:
            assert (row.split in (Split.TEST, Split.OOD)) == (row.purpose is Purpose.EVALUATE)


DYING = """
import asyncio, os, runpy, signal, sys
from pathlib import Path

support = runpy.run_path(sys.argv[1])
from evener.config import RunConfig
from evener.parts import Parts
from evener.team import Team

desk = support["Desk"]()
model = support["clerk"](desk)
lives, answer = int(sys.argv[4]), model.complete


async def complete(request):
    global lives
    lives -= 1
    if lives < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return await answer(request)


model.complete = complete


async def main():
    config = RunConfig.model_validate_json(sys.argv[2])
    parts = Parts(environment=desk, model=model)
    async with Team.open(config, Path(sys.argv[3]), parts=parts) as team:
        await team.run()


asyncio.run(main())
"""


@pytest.mark.parametrize("lives", [30, 120, 200])
async def test_a_killed_run_goes_on_and_runs_no_finished_episode_twice(
    whole: Whole, desk: Any, config: RunConfig, tmp_path: Path, lives: int
) -> None:
    out = tmp_path / "run"
    support = Path(__file__).with_name("conftest.py")
    command = [sys.executable, "-c", DYING, str(support), config.model_dump_json(), str(out)]
    died = await asyncio.to_thread(
        subprocess.run, [*command, str(lives)], check=False, capture_output=True
    )
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()
    with RunFolder.read(out) as folder:
        assert folder.state == "interrupted"
    summary = await whole(config, desk, out)
    cells = {(c.name, c.split): c.solved for c in summary.cells}
    assert cells["base+evolved", "test"] == 12
    with RunFolder.read(out) as folder:
        keys = Counter(str(body["key"]) for body in folder.record.bodies("episode"))
        assert max(keys.values()) == 1
        assert len({entry.session for entry in folder.record.entries("episode")}) == 2


async def test_running_a_finished_run_again_asks_the_model_nothing(
    whole: Whole, hire: Hire, config: RunConfig, desk: Any, tmp_path: Path
) -> None:
    first = await whole(config, desk, tmp_path / "run")
    model = hire(desk)
    parts = Parts(environment=desk, model=model)
    async with Team.open(config, tmp_path / "run", parts=parts) as team:
        again = await team.run()
    assert model.requests == []
    assert again.cells[0].solved == first.cells[0].solved


async def test_other_settings_are_refused_on_a_folder_that_has_a_run(
    whole: Whole, config: RunConfig, desk: Any, tmp_path: Path
) -> None:
    await whole(config, desk, tmp_path / "run")
    other = config.model_copy(update={"plan": config.plan.model_copy(update={"seed": 7})})
    with pytest.raises(RunError, match=r"plan\.seed: 0 → 7"):
        await whole(other, desk, tmp_path / "run")


async def test_a_run_in_which_nothing_can_be_scored_ends_as_a_failure_of_the_machinery(
    config: RunConfig, desk: Any, tmp_path: Path
) -> None:
    def broken(request: object) -> str:
        raise InfraError("the server is down")

    parts = Parts(environment=desk, model=ScriptedModel(broken, name="down"))
    with pytest.raises(InfraError, match="none of 18 mining episodes could be scored"):
        async with Team.open(config, tmp_path / "run", parts=parts) as team:
            await team.run()
    assert not (tmp_path / "run" / "summary.json").exists()


async def test_a_split_that_is_too_small_is_named_before_the_first_episode(
    config: RunConfig, tmp_path: Path
) -> None:
    class Small(Storefront):
        def tasks(self, split: Split, *, count: int, seed: int) -> Sequence[Task]:
            if split is Split.TEST and count > 5:
                raise DataError(f"the split test has 5 tasks, {count} were asked for")
            return super().tasks(split, count=count, seed=seed)

    model = ScriptedModel(lambda _: "", name="idle")
    with pytest.raises(DataError, match="5 tasks, 12 were asked for"):
        async with Team.open(
            config, tmp_path / "run", parts=Parts(environment=Small(), model=model)
        ):
            pass
    assert model.requests == []
    assert not (tmp_path / "run").exists()


async def test_an_episode_that_ran_out_of_turns_is_a_failure_for_the_critic(
    config: RunConfig, desk: Any, tmp_path: Path
) -> None:
    sum_up = '{"name": "calculator", "arguments": {"expression": "1+1"}}'
    parts = Parts(environment=desk, model=ScriptedModel(lambda _: sum_up, name="endless"))
    async with Team.open(config, tmp_path / "run", parts=parts) as team:
        await team.run()
    with RunFolder.read(tmp_path / "run") as folder:
        asked = [m for m in folder.record.bodies("message") if m["type"] == "AttributeFailures"]
        body: Any = asked[0]["body"]
        assert len(body["trajectories"]) == config.plan.search.mine_tasks


async def test_a_run_that_ends_at_its_budget_says_so_and_is_scored_all_the_same(
    whole: Whole, config: RunConfig, desk: Any, tmp_path: Path
) -> None:
    plan = config.plan.model_copy(update={"budget": Budget(rollouts=30)})
    summary = await whole(config.model_copy(update={"plan": plan}), desk, tmp_path / "run")
    assert summary.state == "budget"
    assert "30" in summary.stop_reason
    assert {cell.name for cell in summary.cells} == {"base+seed", "base+hand", "base+evolved"}
    with RunFolder.read(tmp_path / "run") as folder:
        assert folder.state == "budget"
