"""A run whose student is served: chosen by one line, killed in mid-round, finished all the same."""

from pathlib import Path
from typing import Any

import pytest

from evener.agents.models.vllm.model import VllmModel
from evener.agents.plan import Evaluation, Plan, Search, Training, Trials
from evener.agents.record.run import RunFolder
from evener.choose import check_model, choose_model, choose_tuner
from evener.config import GateConfig, RunConfig, parse
from evener.distill.tuner import TrlFineTuner
from evener.progress import Silent
from evener.protocols.error import ConfigError, ModelError
from evener.protocols.trajectory import Outcome
from evener.team import Team, rehearse

WRONG = '{"name": "final", "arguments": {"answer": -1}}'


def served(fake: Any, tiny: Path, **vllm: Any) -> RunConfig:
    """A round of a few episodes that searches for nothing and trains nothing."""
    plan = Plan(
        rounds=1,
        search=Search(iterations=1, mine_tasks=8, race_tasks=1, race_rollouts=2, lighter=0),
        trials=Trials(rollouts=8, confirm=False, watch=0),
        training=Training(method="none"),
        evaluation=Evaluation(test_tasks=4),
    )
    data = RunConfig(gate=GateConfig(kind="paper"), plan=plan).document()
    data["student"] = {
        "model": f"vllm/{tiny}",
        "concurrency": 8,
        "vllm": {"python": fake.python, **vllm},
        "provider": {"attempts": 2},
    }
    return parse(data, where="the test")


async def test_a_server_that_is_killed_in_mid_round_costs_no_run(
    fake: Any, tiny: Path, tmp_path: Path
) -> None:
    fake.script({"1": {"crash_after": 6, "delay": 0.1}, "answer": WRONG})
    config, out = served(fake, tiny), tmp_path / "run"
    await rehearse(config)
    async with Team.open(config, out) as team:
        summary = await team.run()
    assert summary.state == "finished"
    assert all(cell.coverage == 1 for cell in summary.cells)
    with RunFolder.read(out) as folder:
        seen = list(folder.record.bodies("server"))
        lost = [b for b in folder.record.bodies("episode") if b.get("outcome") == Outcome.INFRA]
    assert [body["event"] for body in seen] == ["starting", "ready", "died", "starting", "ready"]
    assert seen[2]["kind"] == "killed"
    assert lost
    assert (out / "server" / "server.log").is_file()
    assert fake.all_gone()
    # a run that has nothing left to ask starts no server
    async with Team.open(config, out) as team:
        await team.run()
    assert len(fake.pids) == 2


async def test_a_run_stops_with_one_line_when_its_server_keeps_dying(
    fake: Any, tiny: Path, tmp_path: Path
) -> None:
    fake.script({"then": {"crash_after": 3}, "answer": WRONG})
    with pytest.raises(ModelError, match="started 2 times and is gone again"):
        async with Team.open(served(fake, tiny, restarts=1), tmp_path / "run") as team:
            await team.run()
    assert fake.all_gone()
    fake.script({"answer": WRONG})
    async with Team.open(served(fake, tiny), tmp_path / "run") as team:
        assert (await team.run()).state == "finished"


async def test_its_weights_are_those_that_are_trained(fake: Any, tiny: Path) -> None:
    config = served(fake, tiny)
    training = config.plan.training.model_copy(update={"method": "lora"})
    plan = config.plan.model_copy(update={"training": training})
    config = config.model_copy(update={"plan": plan})
    model = choose_model(config)
    assert isinstance(model, VllmModel)
    assert model.folder == tiny
    tuner = choose_tuner(config, model, progress=Silent())
    assert isinstance(tuner, TrlFineTuner)
    assert tuner._model == tiny
    await model.close()


async def test_one_that_runs_can_be_trained_where_its_weights_are_named(tiny: Path) -> None:
    data: dict[str, Any] = {
        "student": {"model": "hosted_vllm/small", "api_base": "http://127.0.0.1:9"}
    }
    model = choose_model(parse(data, where="here"))
    with pytest.raises(ConfigError, match=r"out of reach.*student.vllm.weights"):
        choose_tuner(RunConfig(), model, progress=Silent())
    data["student"]["vllm"] = {"weights": str(tiny)}
    named = choose_model(parse(data, where="here"))
    assert isinstance(choose_tuner(RunConfig(), named, progress=Silent()), TrlFineTuner)
    await model.close()
    await named.close()


def test_what_cannot_be_served_is_said_before_anything_starts(fake: Any, tiny: Path) -> None:
    def config(**given: Any) -> RunConfig:
        return parse({"student": {"model": f"vllm/{tiny}"}} | given, where="here")

    check_model(config())
    with pytest.raises(ConfigError, match="up to rank 512, not 600"):
        check_model(config(finetune={"rank": 600}))
    with pytest.raises(ConfigError, match="starts a server of its own"):
        check_model(config(student={"model": f"vllm/{tiny}", "api_base": "http://127.0.0.1:1"}))
    with pytest.raises(ModelError, match="does not exist"):
        check_model(config(student={"model": "vllm//nowhere/at/all"}))
    with pytest.raises(ModelError, match="no such model"):
        check_model(config(student={"model": "vllm/typo"}))
    with pytest.raises(ConfigError, match="said by evener itself"):
        config(student={"model": f"vllm/{tiny}", "vllm": {"arguments": ["--host", "0.0.0.0"]}})


def test_where_it_runs_and_how_often_it_may_die_does_not_stop_a_resume(tmp_path: Path) -> None:
    from evener.agents.record.manifest import Manifest

    def manifest(**vllm: Any) -> Manifest:
        config = parse({"student": {"vllm": vllm}}, where="here")
        return Manifest.of(config.document(), digests={}, seeds={})

    first = manifest()
    assert first.changes(manifest(python="/x/python", restarts=9, silence_s=9.0)) == ()
    assert first.changes(manifest(max_model_len=512))
