"""Whole rounds of a student behind an interface: its weights stay, or are trained elsewhere."""

import asyncio
import hashlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evener.agents.models.remote.faults import FaultServer
from evener.agents.models.scripted import ScriptedModel
from evener.agents.record.run import RunFolder
from evener.choose import check_training
from evener.config import RunConfig, parse
from evener.estimate import estimate
from evener.parts import Parts
from evener.protocols.error import ConfigError, ModelError
from evener.protocols.message import Message
from evener.protocols.model import Request
from evener.protocols.summary import Cell, Summary
from evener.protocols.verdict import Ruling
from evener.team import Team, rehearse

WRONG = json.dumps({"name": "final", "arguments": {"answer": -1}})
KEY = "hunter22hunter22"

# the trainer: counts its runs and its rows, and says which model the service made of them
TRAINER = """
import json, os, pathlib, sys
rows, out = map(pathlib.Path, sys.argv[1:3])
print("with the key", os.environ["SERVICE_API_KEY"])
with open(sys.argv[3], "a") as runs:
    print(len(rows.read_text().splitlines()), file=runs)
(out / "result.json").write_text(json.dumps({"model": sys.argv[4]}))
"""

Hire = Callable[[Any], ScriptedModel]


def endpoint(desk: Any, clerk: Any) -> Callable[[dict[str, Any]], str]:
    """Every model there is the clerk; only the tuned one never errs."""

    def answer(body: dict[str, Any]) -> str:
        messages = tuple(
            Message(role=m["role"], content=m["content"] or "") for m in body["messages"]
        )
        asked = [m.content for m in messages if m.content in desk.asked]
        if not asked:
            return f"I am {body['model']}."
        errs = hashlib.sha256(asked[-1].encode()).digest()[0] % 4 == 0
        if errs and body["model"] != "tuned":
            return WRONG
        return str(clerk._rule(Request(messages=messages)))

    return answer


def configured(config: RunConfig, server: FaultServer, **changes: Any) -> RunConfig:
    """The run with its student at the server, as a file would say it."""
    data: Any = config.document()
    data["student"] = {
        "model": "hosted_vllm/small",
        "api_base": server.url,
        "provider": {"price_in": 1.0, "price_out": 10.0},
    }
    return parse({**data, **changes}, where="run.toml")


def taught(
    support: Any, server: FaultServer, folder: Path, *, names: str = "tuned", **training: Any
) -> RunConfig:
    """Two rounds, with the trainer in `folder`."""
    script = folder / "trainer.py"
    script.write_text(TRAINER, "utf-8")
    config = support.two_rounds(support.small_config(), method="external", **training)
    plan = config.plan.model_copy(update={"rounds": 1})
    command = [sys.executable, str(script), "{rows}", "{out}", str(folder / "runs"), names]
    return configured(
        config.model_copy(update={"plan": plan}), server, external={"command": command}
    )


async def finished(config: RunConfig, out: Path, desk: Any) -> Summary:
    async with Team.open(config, out, parts=Parts(environment=desk)) as team:
        return await team.run()


async def test_a_trainer_elsewhere_makes_a_model_that_passes_the_gate_and_is_paid_for_once(
    support: Any, desk: Any, hire: Hire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", KEY)
    out = tmp_path / "run"
    async with FaultServer(endpoint(desk, hire(desk)), models=("small", "tuned")) as server:
        config = taught(support, server, tmp_path)
        summary = await finished(config, out, desk)
        (line,) = [line for line in summary.verdicts if line.kind == "model"]
        assert line.outcome is Ruling.ACCEPT
        assert summary.model == "hosted_vllm/small+m1"
        cells = {cell.name: cell.rate for cell in summary.cells if cell.split == "test"}
        assert cells["trained+evolved"] >= cells["base+evolved"] > 0
        student = summary.budget.by_role["student"]
        assert student.requests == server.books.requests
        read, written = server.books.tokens
        assert student.usd == pytest.approx((read + 10 * written) / 1e6, abs=1e-6)
        # the adapter's name is what the server was asked for
        assert {body["model"] for body in server.bodies} == {"small", "tuned"}

        asked = server.books.requests
        again = await finished(config, out, desk)
        assert server.books.requests == asked
        assert without_cost(again.cells) == without_cost(summary.cells)
        async with Team.reopen(out, parts=Parts(environment=desk)) as team:
            assert (await team.serve("m1")).adapter == "m1"
    runs = (tmp_path / "runs").read_text("utf-8").split()
    assert runs == [str(summary.rows.accepted)]
    assert KEY.encode() not in b"".join(everything(out))
    code, text, talk = await evener("rows", "show", out)
    assert (code, text) == (2, "")
    assert "conversations, whose tokens are not known here" in talk


def without_cost(cells: Sequence[Cell]) -> list[Cell]:
    """The figures of cells; to look one up in the store takes other CPU-seconds than to make it."""
    return [cell.model_copy(update={"cpu_seconds": 0.0}) for cell in cells]


def everything(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


async def test_a_run_that_its_trainer_broke_goes_on_where_it_was(
    support: Any, desk: Any, hire: Hire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SERVICE_API_KEY", raising=False)
    out = tmp_path / "run"
    async with FaultServer(endpoint(desk, hire(desk)), models=("small", "tuned")) as server:
        config = taught(support, server, tmp_path)
        with pytest.raises(ModelError, match=r"ended with 1: KeyError: 'SERVICE_API_KEY'.*log"):
            await finished(config, out, desk)
        asked = server.books.requests
        assert not (tmp_path / "runs").exists()
        monkeypatch.setenv("SERVICE_API_KEY", KEY)
        summary = await finished(config, out, desk)
        assert summary.state == "finished"
        # of what was paid before the training nothing is asked again
        assert server.bodies[asked]["model"] == "tuned"


async def test_a_command_that_cannot_train_is_refused_before_the_run_has_a_folder(
    support: Any, desk: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", KEY)
    async with FaultServer() as server:
        config = taught(support, server, tmp_path)

        def commanding(*command: str) -> RunConfig:
            external = config.external.model_copy(update={"command": command})
            return config.model_copy(update={"external": external})

        for command, said in (
            ((), "no command to train with"),
            (("train",), r"has no \{rows\}"),
            (("train", "{rows}", KEY), "looks like a key"),
        ):
            with pytest.raises(ConfigError, match=said):
                await rehearse(commanding(*command))
            with pytest.raises(ConfigError, match=said):
                await finished(commanding(*command), tmp_path / "run", desk)
        assert server.books.requests == 0
    assert not (tmp_path / "run").exists()


async def evener(*arguments: object, **variables: str) -> tuple[int, str, str]:
    """The command line in a process of its own: exit status, stdout, stderr."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "evener", *map(str, arguments)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **variables},
    )
    out, err = await asyncio.wait_for(process.communicate(), 600)
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


HARNESS_ONLY = """
[student]
model = "hosted_vllm/small"
api_base = "{url}"
provider = {{price_in = 1.0, price_out = 10.0, budget = {{calls = 100000}}}}
[gate]
schedule = "small"
[plan]
rounds = 1
[plan.search]
iterations = 1
mine_tasks = 8
race_tasks = 2
race_rollouts = 8
proposals = 2
[plan.trials]
rollouts = 120
watch = 0
[plan.training]
method = "none"
[plan.evaluation]
test_tasks = 8
"""


async def test_a_round_of_weights_that_stay_ends_with_calls_tokens_and_costs_and_pays_once(
    tmp_path: Path,
) -> None:
    file, out = tmp_path / "run.toml", tmp_path / "run"
    async with FaultServer(WRONG, models=("small",)) as server:
        file.write_text(HARNESS_ONLY.format(url=server.url), "utf-8")
        code, text, talk = await evener("run", file, "--out", out, "--json")
        assert code == 0, talk
        (said,) = [line for line in talk.splitlines() if line.startswith("estimate: ")]
        assert " calls, " in said
        assert " million tokens read, " in said
        assert said.endswith(" USD")
        assert "CPU-seconds" not in said
        summary = json.loads(text)
        student = summary["budget"]["by_role"]["student"]
        read, written = server.books.tokens
        assert student["requests"] == student["calls"] == server.books.requests > 0
        assert student["tokens"] == written
        assert student["usd"] == pytest.approx((read + 10 * written) / 1e6, abs=1e-6)
        assert {cell["model"] for cell in summary["cells"]} == {"hosted_vllm/small"}

        asked = server.books.requests
        code, text, talk = await evener("run", file, "--out", out)
        assert code == 0, talk
        assert server.books.requests == asked
        assert f"student: {asked} requests, " in text
        assert " USD" in text


def test_the_key_of_any_role_is_kept_out_of_the_trainers_command(
    config: RunConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE", "open-sesame-4711")
    text = """
    {"plan": {"training": {"method": "external"}},
     "external": {"command": ["train", "{rows}", "open-sesame-4711"]},
     "distill": {"reviewer": "model",
                 "reviewer_model": {"model": "openai/x", "provider": {"api_key_env": "JUDGE"}}}}
    """
    with pytest.raises(ConfigError, match="looks like a key"):
        check_training(RunConfig.model_validate_json(text))


def test_an_estimate_in_money_takes_prices_for_both_directions(support: Any) -> None:
    data: Any = support.small_config().document()
    data["student"] = {"model": "hosted_vllm/m", "provider": {"price_in": 1.0, "price_out": 2.0}}
    config = parse(data, where="x")
    bound = estimate(config.plan, arms=1).behind(config)
    assert bound.read is not None
    assert bound.written is not None
    assert bound.usd == pytest.approx((bound.read + 2 * bound.written) / 1e6)
    data["student"]["provider"] = {"price_in": 1.0}
    half = parse(data, where="x")
    assert estimate(half.plan, arms=1).behind(half).usd is None
    here = support.small_config()
    assert estimate(here.plan, arms=1).behind(here).calls is None


async def test_an_episode_takes_no_more_calls_and_tokens_than_were_announced(
    config: RunConfig, desk: Any, hire: Hire, tmp_path: Path
) -> None:
    async with FaultServer(endpoint(desk, hire(desk))) as server:
        given = configured(config, server)
        await finished(given, tmp_path / "run", desk)
        bound = estimate(given.plan, arms=1).behind(given)
        with RunFolder.read(tmp_path / "run") as folder:
            episodes = len(list(folder.record.trajectories()))
        assert bound.calls is not None
        assert server.books.requests / episodes <= bound.calls / bound.rollouts
