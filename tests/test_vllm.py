"""Whole rounds with the embedded student on a real vLLM server: `make test-vllm`.

The server needs an interpreter of its own, which EVENER_VLLM_PYTHON names.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evener.agents.record.run import MANIFEST, RunFolder
from evener.config import of_run
from evener.protocols.summary import Summary

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(3600)]

# One thread: others run beside this, and two that wait for each other on shared cores take longer.
CONFIG = """
[student]
model = "vllm/embedded"
threads = 1
concurrency = 32

[student.vllm]
max_model_len = 4096
cache_gib = 1.0

[harness]
start = "seed"

[gate]
kind = "paper"

[plan]
rounds = 1

[plan.search]
iterations = 1
mine_tasks = 12
race_tasks = 2
race_rollouts = 8
proposals = 4
lighter = 0

[plan.trials]
rollouts = 24
confirm = false
watch = 0

[plan.training]
collect_tasks = 24
resamples = 1

[plan.evaluation]
test_tasks = 8

[finetune]
batch_rows = 4
epochs = 2
min_rows = 4
"""


@pytest.fixture(autouse=True)
def interpreter() -> str:
    """The one that has vLLM."""
    named = os.environ.get("EVENER_VLLM_PYTHON", "")
    if not named:
        pytest.fail("EVENER_VLLM_PYTHON names no python with vLLM: run `make test-vllm`")
    return named


def start(out: Path, *overrides: str) -> subprocess.Popen[str]:
    config = out.with_suffix(".toml")
    config.write_text(CONFIG, "utf-8")
    command = [sys.executable, "-m", "evener", "run", str(config), "--out", str(out), *overrides]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )


def events(out: Path) -> list[dict[str, Any]]:
    """What became of the server so far, read beside the process that writes it."""
    if not (out / MANIFEST).is_file():
        return []
    with RunFolder.read(out) as folder:
        return [dict(body) for body in folder.record.bodies("server")]


def servers() -> list[str]:
    """Command lines of vLLM servers on this machine that are ours."""
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if "vllm.entrypoints" in line and str(os.environ["EVENER_VLLM_PYTHON"]) in line:
            found.append(line)
    return found


def test_a_whole_round_on_a_vllm_server(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with start(out) as process:
        _, talk = process.communicate(timeout=3000)
    assert process.returncode == 0, talk
    summary = Summary.model_validate_json((out / "summary.json").read_bytes())
    assert summary.state == "finished"
    with RunFolder.read(out) as folder:
        assert of_run(folder).student.model == "vllm/embedded"
        (trained,) = folder.record.bodies("trained")
        calls = list(folder.record.bodies("provider_call"))
    # collected, tried a patch, trained
    assert trained["model"] is not None, trained
    assert isinstance(trained["steps"], int)
    assert trained["steps"] >= 6
    assert {verdict.kind for verdict in summary.verdicts} >= {"improve", "model"}
    # swapped in while it ran, on the one server there was
    seen = [event["event"] for event in events(out)]
    assert seen.count("starting") == seen.count("ready") == 1
    assert "loaded" in seen
    # evaluated, and every reply came from the server
    cells = {cell.name: cell for cell in summary.cells if cell.split == "test"}
    assert cells["base+seed"].n == 8
    assert any(name.startswith("trained") for name in cells)
    assert all(cell.coverage == 1 for cell in cells.values())
    models = {str(call["model"]) for call in calls}
    assert len(models) == 2
    assert servers() == []
    print(json.dumps({name: [cell.n, cell.solved] for name, cell in cells.items()}))
    print(f"steps {trained['steps']}, loss {trained['loss_first']} → {trained['loss_last']}")


def test_a_server_that_is_killed_in_mid_round_costs_no_run(tmp_path: Path) -> None:
    out = tmp_path / "run"
    small = ("plan.training.method=none", "plan.trials.rollouts=8")
    killed = 0
    with start(out, *small) as process:
        deadline = time.monotonic() + 1500
        while not killed and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.2)
            ready = [event for event in events(out) if event["event"] == "ready"]
            if ready and answered(out) >= 3:
                killed = int(ready[0]["pid"])
                os.kill(killed, signal.SIGKILL)
        _, talk = process.communicate(timeout=3000)
    assert process.returncode == 0, talk
    assert killed
    summary = Summary.model_validate_json((out / "summary.json").read_bytes())
    assert summary.state == "finished"
    assert all(cell.coverage == 1 for cell in summary.cells)
    seen = events(out)
    assert [event["event"] for event in seen] == [
        *("starting", "ready", "died"),
        *("starting", "ready"),
    ]
    (died,) = (event for event in seen if event["event"] == "died")
    assert died["kind"] == "killed"
    assert died["code"] == -signal.SIGKILL
    assert died["last"]
    assert servers() == []


def answered(out: Path) -> int:
    """Calls that were answered so far."""
    with RunFolder.read(out) as folder:
        return sum(1 for _ in folder.record.bodies("provider_call"))
