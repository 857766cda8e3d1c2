"""One demo, killed while it collects and again while it trains: it ends whole all the same.

The demo is what a stranger runs first, so its promises are tested on the real student.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from evener.agents.record.registry import Registry
from evener.agents.record.run import MANIFEST, RunFolder
from evener.protocols.summary import Cell, Comparison, Summary
from evener.protocols.task import Purpose, Split

pytestmark = [pytest.mark.demo, pytest.mark.timeout(5400)]


def start(out: Path, *flags: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "evener", "demo", "--out", str(out), *flags]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def collected(out: Path) -> int:
    """Finished episodes of the trainer's data, read beside the process that writes them. There is
    nothing to read before the manifest, which is written when the log has its tables."""
    if not (out / MANIFEST).is_file():
        return 0
    with RunFolder.read(out) as folder:
        return sum(1 for _ in folder.record.trajectories(purpose=Purpose.COLLECT))


def children(parent: int) -> list[int]:
    listed = Path(f"/proc/{parent}/task/{parent}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


def workers(parent: int) -> list[int]:
    """The training processes that a run has started."""
    return [pid for pid in children(parent) if b"evener.distill.training.worker" in cmdline(pid)]


def cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def wait_for(happens: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    while not happens():
        assert process.poll() is None, f"the demo ended with {process.returncode} too early"
        time.sleep(0.2)


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert process.stdout is not None
    process.stdout.close()


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of a demo that was killed twice and then left alone."""
    out = tmp_path_factory.mktemp("demo") / "run"
    first = start(out)
    wait_for(lambda: collected(out) >= 10, first)
    kill(first)

    second = start(out)
    wait_for(lambda: bool(workers(second.pid)), second)
    (worker,) = workers(second.pid)
    time.sleep(15)
    kill(second)
    deadline = time.monotonic() + 60
    while cmdline(worker) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert not cmdline(worker), "the training process outlived the run"

    third = start(out, "--json")
    answer, _ = third.communicate()
    assert third.returncode == 0
    assert json.loads(answer) == json.loads((out / "summary.json").read_text("utf-8"))
    return out


@pytest.fixture(scope="module")
def summary(out: Path) -> Summary:
    return Summary.model_validate_json((out / "summary.json").read_text("utf-8"))


def cell(summary: Summary, name: str) -> Cell:
    (found,) = [c for c in summary.cells if (c.name, c.split) == (name, "test")]
    return found


def difference(summary: Summary, a: str, b: str) -> Comparison:
    (found,) = [c for c in summary.comparisons if (c.a, c.b, c.split) == (a, b, "test")]
    return found


def test_the_summary_is_whole(summary: Summary) -> None:
    assert summary.state == "finished"
    assert summary.verdicts
    assert summary.rows.accepted > 0
    assert summary.verdict_sentence
    for name in ("base+seed", "base+evolved", "trained+evolved"):
        found = cell(summary, name)
        assert found.n >= 60
        assert found.low < found.rate < found.high or found.rate in (0, 1)
        assert found.coverage >= 0.9


def test_the_base_leaves_room_and_both_together_are_ahead_of_it(summary: Summary) -> None:
    assert 0.15 <= cell(summary, "base+seed").rate <= 0.35
    gain = difference(summary, "trained+evolved", "base+seed")
    assert gain.paired
    assert gain.low > 0


def test_what_it_cost_is_counted_over_all_its_sessions(summary: Summary, out: Path) -> None:
    with RunFolder.read(out) as folder:
        sessions = folder.sessions()
    costs = [session.cpu_seconds for session in sessions]
    assert len(costs) == 3
    assert min(costs) > 0
    assert summary.budget.cpu_seconds > costs[0] + costs[1]
    assert summary.budget.wall_seconds > 0


def test_no_finished_episode_was_run_twice(out: Path) -> None:
    with RunFolder.read(out) as folder:
        assert [row.state for row in folder.sessions()].count("finished") == 1
        assert len(folder.sessions()) >= 3
        runs = Counter(str(body["key"]) for body in folder.record.bodies("episode"))
    assert max(runs.values()) == 1


def test_the_sealed_splits_were_looked_at_for_figures_alone(out: Path) -> None:
    with RunFolder.read(out) as folder:
        for row in folder.record.trajectories():
            sealed = row.split in (Split.TEST, Split.OOD)
            assert sealed == (row.purpose is Purpose.EVALUATE)


def test_the_registry_has_what_was_accepted_and_what_was_not(out: Path) -> None:
    registry = Registry(out / "harness")
    assert registry.verify() == ()
    accepted = [record for version in registry.versions() for record in registry.diffs(version)]
    refused = [*registry.not_accepted().values()]
    assert accepted
    for record in accepted:
        assert record.verdict is not None
        assert record.verdict.delta_in is not None
        assert record.attributions
        assert all(attribution.evidence.quote for attribution in record.attributions)
    for record in refused:
        assert record.attributions
        assert record.fault or (record.verdict is not None and record.verdict.reason)


def test_any_version_comes_back_byte_for_byte(out: Path) -> None:
    registry = Registry(out / "harness")
    head, _ = registry.head()
    before = {version: registry.path(version).read_bytes() for version in registry.versions()}
    for version in (*before, head):
        command = [sys.executable, "-m", "evener", "harness", "rollback", str(out), version]
        subprocess.run(command, check=True, capture_output=True)
        assert registry.head()[0] == version
    after = {version: registry.path(version).read_bytes() for version in registry.versions()}
    assert before == after


def test_nothing_is_left_running(out: Path) -> None:
    mine = [pid for pid in Path("/proc").iterdir() if pid.name.isdigit()]
    left = [pid.name for pid in mine if os.fsencode(out) in cmdline(int(pid.name))]
    assert left == []
