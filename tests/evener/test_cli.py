"""The command line on a finished run: what it prints, and its one line for a mistake."""

import asyncio
import contextlib
import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import pytest

from evener.agents.record.run import RunFolder
from evener.cli import main
from evener.config import RESERVED, RESERVED_NUMBERED, RunConfig
from evener.environments.storefront import harness_path
from evener.parts import Parts
from evener.team import Team


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    support = request.getfixturevalue("support")
    out = tmp_path_factory.mktemp("cli") / "run"
    desk = support.new_desk()
    config: RunConfig = support.small_config()

    async def run() -> None:
        parts = Parts(environment=desk, model=support.clerk(desk))
        async with Team.open(config, out, parts=parts) as team:
            await team.run()

    asyncio.run(run())
    return out


class Done(NamedTuple):
    code: int
    stdout: str
    stderr: str


def evener(*args: str) -> Done:
    """The console script, in this process."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["evener", *args]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        code: Any = 0
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = before
    return Done(int(code), out.getvalue(), err.getvalue())


def answer(*args: str) -> Any:
    done = evener(*args, "--json")
    assert done.code == 0, done.stderr
    return json.loads(done.stdout)


def refusal(*args: str) -> str:
    done = evener(*args)
    assert done.code == 2, done.stderr
    (line,) = done.stderr.strip().splitlines()
    return line


def test_harness_list_shows_versions_and_what_was_turned_down(finished: Path) -> None:
    rows = answer("harness", "list", str(finished))
    assert [row["version"] for row in rows[:2]] == ["v0", "v1"]
    assert rows[1]["state"] == "HEAD"
    assert any(row["state"] == "REJECT" for row in rows[2:])


def test_rollback_puts_any_version_back_byte_for_byte(finished: Path) -> None:
    files = {v: (finished / "harness" / v / "harness.yaml").read_bytes() for v in ("v0", "v1")}
    for version in ("v0", "v1"):
        assert answer("harness", "rollback", str(finished), version)["head"] == version
        assert (finished / "harness" / "HEAD").read_text("utf-8") == f"{version}\n"
        shown = evener("harness", "show", str(finished), version).stdout
        assert shown.encode() == files[version]
    assert answer("harness", "verify", str(finished))["faults"] == []


def test_an_unknown_version_is_one_line_with_those_there_are(finished: Path) -> None:
    line = refusal("harness", "rollback", str(finished), "v9")
    assert "v9" in line
    assert "v0, v1" in line


def test_diff_between_versions_names_the_new_skills(finished: Path) -> None:
    assert "+skills:" in evener("harness", "diff", str(finished), "v0", "v1").stdout


def test_trajectories_are_listed_and_shown_in_full(finished: Path) -> None:
    rows = answer("trajectories", "list", str(finished), "--split", "test", "--limit", "3")
    assert len(rows) == 3
    shown = answer("trajectories", "show", str(finished), rows[0]["trajectory"][:16])
    assert shown["id"] == rows[0]["episode"]
    assert "no trajectory begins" in refusal("trajectories", "show", str(finished), "zz")


def test_the_graph_has_every_message_and_reads_back(finished: Path) -> None:
    text = evener("graph", str(finished), "--format", "text").stdout
    assert "conductor → student  RolloutRequest" in text
    back = nx.read_graphml(
        io.BytesIO(evener("graph", str(finished), "--format", "graphml").stdout.encode())
    )
    with RunFolder.read(finished) as folder:
        assert back.number_of_nodes() == sum(1 for _ in folder.record.bodies("message"))
    assert "mermaid" in refusal("graph", str(finished), "--format", "svg")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("run", "nowhere.toml"), "no such file"),
        (("graph", "nowhere"), "no such run folder"),
        (("models", "fetch", "./nowhere"), "nowhere"),
        (("harness", "check", "nowhere.yaml"), "nowhere.yaml"),
        (("harness", "check", "optimised"), "optimized"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(args: tuple[str, ...], says: str) -> None:
    assert says in refusal(*args)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("[plan]\nrounds = 0\n", "plan.rounds"),
        ("[plan.search]\niterations = -1\n", "plan.search.iterations"),
        ("[plan.evaluation]\ntest_tasks = 0\n", "plan.evaluation.test_tasks"),
        ("[plan]\nroundz = 1\n", "did you mean plan.rounds"),
        ('[environment]\nname = "storefrnt"\n', "storefront"),
        ('[harness]\nstart = "sed"\n', "seed"),
        ("[finetune]\nrank = 0\n", "finetune.rank"),
        ("[finetune]\nlora_rank = 8\n", "finetune.rank"),
        ('[student]\nmodel = "/no/such"\n', "/no/such"),
        ('[student]\nmodel = "~nobody-here/x"\n', "~nobody-here/x"),
        ('[critic]\nmodel = ""\n', "critic.model"),
        ('[student]\nmodel = " "\n', "student.model: Value error, an empty name"),
        ('[distill]\nknowledge = ""\n', "distill.knowledge"),
        ('[distill.reviewer_model]\nmodel = " "\n', "distill.reviewer_model.model"),
        ("[distill]\nmost_replaced = 5\n", "distill.most_replaced"),
        ("[distill]\ntemperature = 2.1\n", "distill.temperature"),
        ("[plan.trials]\ntemperature = 2.1\n", "plan.trials.temperature"),
        ("[plan.training]\ntemperature = 2.1\n", "plan.training.temperature"),
        ('[critic]\napi_base = "http://me:secret@h"\n', "critic.api_base: the address of h holds"),
        ('[distill.reviewer_model]\napi_base = "http://h#s"\n', "distill.reviewer_model.api_base"),
        ("[plan\n", "not TOML"),
    ],
)
def test_a_wrong_setting_is_named_before_anything_runs(
    tmp_path: Path, line: str, says: str
) -> None:
    file = tmp_path / "run.toml"
    file.write_text(line)
    assert says in refusal("run", str(file), "--dry-run")


def test_a_harness_is_checked_against_an_environment_with_settings(tmp_path: Path) -> None:
    tasks, config = tmp_path / "tasks.jsonl", tmp_path / "run.toml"
    rows = ({"id": str(n), "prompt": f"What is 1 + {n}?", "answer": 1 + n} for n in range(60))
    tasks.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    settings = f"{{ path = '{tasks}', scorer = 'number' }}"
    config.write_text(f"[environment]\nname = 'jsonl'\nsettings = {settings}\n", "utf-8")
    harness = str(harness_path("seed"))
    assert "jsonl" in refusal("harness", "check", harness, "--environment", "jsonl")
    told = refusal("harness", "check", harness, "--environment", str(config))
    assert "there is no action 'calculator'. actions: final" in told
    assert answer("harness", "check", harness)["name"] == "storefront-seed"


def test_a_dry_run_estimates_and_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("")
    cost = answer("run", str(file), "plan.rounds=1", "--dry-run")
    assert cost["rollouts"] == sum(stage["rollouts"] for stage in cost["stages"])
    assert list(tmp_path.iterdir()) == [file]


def test_a_gate_says_what_it_errs_and_what_a_gain_costs() -> None:
    rates = answer("gate", "simulate", "--gate", "paper", "--replicates", "500")
    assert rates["accept"]["low"] < 0.26 < rates["accept"]["high"]
    plan = answer("gate", "plan", "--replicates", "50")
    assert plan["need"]["rollouts"] > 0
    assert "rollouts" in evener("gate", "plan", "--replicates", "20").stdout


@pytest.mark.parametrize(
    "args",
    [
        ("demo", "--model", ""),
        ("harness", "adapt", "optimized", "--rewriter", ""),
        ("compare", "seed", "hand", "--model", ""),
        ("compare", "seed", "hand", "--model-b", ""),
        ("bench", "critic", "--critic", " "),
    ],
)
def test_a_model_without_a_name_is_refused(args: tuple[str, ...]) -> None:
    assert "no model is named" in refusal(*args)


def test_an_unknown_split_is_refused(finished: Path) -> None:
    done = evener("evaluate", str(finished), "--split", "exam")
    assert done.code == 2
    assert "held_out" in done.stderr


@pytest.mark.parametrize(
    "name", [*RESERVED, *(f"{beginning}1" for beginning in RESERVED_NUMBERED), "", "a+b"]
)
def test_an_arm_cannot_take_the_place_of_another_cell(tmp_path: Path, name: str) -> None:
    file = tmp_path / "run.toml"
    file.write_text(f'[harness.arms]\n"{name}" = "hand"\n')
    assert "an arm cannot be called" in refusal("run", str(file), "--dry-run")


@pytest.mark.parametrize(
    "args",
    [
        ("gate", "plan", "--power", "7"),
        ("gate", "simulate", "--gain", "5"),
        ("gate", "simulate", "--loss", "-3"),
        ("compare", "seed", "hand", "--temperature", "2.1"),
        ("compare", "seed", "hand", "--temperature", "inf"),
        ("compare", "seed", "hand", "--temperature", "nan"),
        ("compare", "seed", "hand", "--margin", "nan"),
    ],
)
def test_a_share_outside_its_range_is_refused(args: tuple[str, ...]) -> None:
    assert evener(*args).code == 2


@pytest.mark.parametrize(
    "args",
    [
        ("report", "RUN"),
        ("evaluate", "RUN"),
        ("rows", "show", "RUN"),
        ("models", "export", "RUN", "m1", "out"),
        ("harness", "check", "RUN"),
        ("harness", "check", "RUN:v0"),
        ("compare", "RUN:v0", "seed"),
        ("compare", "seed", "hand", "--model", "RUN"),
        ("compare", "seed", "hand", "--model", "RUN:m1"),
    ],
)
def test_a_name_that_no_file_can_have_is_one_line(args: tuple[str, ...]) -> None:
    said = refusal(*(arg.replace("RUN", "a" * 300) for arg in args))
    assert said == f"evener: {'a' * 60}…: File name too long"


def test_a_number_of_five_thousand_digits_is_no_traceback(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("")
    assert "plan.rounds" in refusal("run", str(file), f"plan.rounds={'9' * 5000}", "--dry-run")
    file.write_text("[" * 5000)
    assert "not TOML" in refusal("run", str(file), "--dry-run")


def test_a_damaged_configuration_of_a_run_is_one_line(finished: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(finished, copy)
    manifest = json.loads((copy / "manifest.json").read_text("utf-8"))
    manifest["config"]["plan"]["rounds"] = "many"
    (copy / "manifest.json").write_text(json.dumps(manifest))
    assert "damaged" in refusal("evaluate", str(copy))


def test_a_version_with_a_changed_byte_is_not_shown(finished: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(finished, copy)
    file = copy / "harness" / "v1" / "harness.yaml"
    file.write_bytes(file.read_bytes().replace(b"convert", b"c0nvert", 1))
    assert "v1 is damaged" in refusal("harness", "show", str(copy), "v1")


def test_a_lock_that_is_a_folder_is_one_line(finished: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(finished, copy)
    (copy / "lock").unlink()
    (copy / "lock").mkdir()
    assert "lock" in refusal("harness", "rollback", str(copy), "v0")


def test_a_protection_that_must_be_there_is_asked_of_the_environment(tmp_path: Path) -> None:
    config = tmp_path / "run.toml"
    plan = "[plan]\nrounds = 1\n[plan.training]\nmethod = 'none'\n"
    config.write_text(f"{plan}[environment]\nname = 'math'\n[harness]\nstart = 'tir'\n", "utf-8")
    code, _, err = evener("run", str(config), "--dry-run", "--require-sandbox", "process")
    assert (code, "Traceback" in err) == (0, False)
    config.write_text(plan, "utf-8")
    code, _, err = evener("run", str(config), "--dry-run", "--require-sandbox", "process")
    assert code == 2
    assert "require_sandbox" in err
