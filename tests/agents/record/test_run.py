"""A run folder: begun once, held by one process, resumed only as what it was."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evener.agents.record import run as run_module
from evener.agents.record.atomic import write_atomically
from evener.agents.record.manifest import Manifest, libraries, tree_digest
from evener.agents.record.run import RunFolder
from evener.agents.record.session import Session, sessions
from evener.agents.record.store import Record
from evener.agents.record.usage import process_cpu_seconds
from evener.protocols.digest import JsonObject
from evener.protocols.error import RunError

MANIFEST = Manifest(
    config={"rounds": 1, "student": {"model": "embedded"}},
    digests={"environment": "a" * 64},
    seeds={"run": 0},
    code="c" * 64,
    libraries={"torch": "2.13.0"},
    python="3.11.9",
)

# Runs 30 steps of some seconds each in a run folder, skipping those that the log has.
STEPS = """
import json, signal, sys, time
from pathlib import Path
from evener.agents.record.manifest import Manifest
from evener.agents.record.run import RunFolder

def stop(number, frame):
    raise SystemExit(128 + number)

signal.signal(signal.SIGTERM, stop)
manifest = Manifest.model_validate_json(sys.argv[2])
try:
    with RunFolder.open(Path(sys.argv[1]), manifest) as run:
        done = {body["n"] for body in run.record.bodies("step")}
        print("ready", flush=True)
        for number in range(30):
            if number not in done:
                time.sleep(float(sys.argv[3]))
                run.record.append("step", {"n": number})
        run.session.end_as("finished")
except KeyboardInterrupt:
    sys.exit(130)
"""


def steps(path: Path, *, seconds: float = 0.02) -> subprocess.Popen[str]:
    manifest = MANIFEST.model_dump_json()
    return subprocess.Popen(
        [sys.executable, "-c", STEPS, str(path), manifest, str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


def test_a_run_is_begun_and_read(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "demo"
    with RunFolder.open(path, MANIFEST) as run:
        run.record.append("x", {})
        assert (run.state, run.resumed) == ("running", False)
        assert next(run.record.entries()).session == 1
        run.replies.put("k", b"v")
        run.write("summary.json", "{}\n")
        with RunFolder.read(path) as viewer:
            assert viewer.state == "running"
            assert viewer.manifest == MANIFEST
            assert viewer.replies.get("k") == b"v"
        assert run.session is not None
        run.session.end_as("finished")
    names = sorted(child.name for child in path.iterdir())
    assert names == ["events.db", "lock", "manifest.json", "summary.json"]
    with RunFolder.read(path) as viewer:
        assert viewer.state == "finished"
        assert [one.pid for one in viewer.sessions()] == [os.getpid()]


def test_a_run_can_be_read_as_soon_as_its_manifest_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, int]] = []

    def look(path: Path, text: str) -> None:
        write_atomically(path, text)
        with RunFolder.read(tmp_path) as viewer:
            seen.append((path.name, sum(1 for _ in viewer.record.trajectories())))

    monkeypatch.setattr(run_module, "write_atomically", look)
    with RunFolder.open(tmp_path, MANIFEST):
        pass
    assert seen == [("manifest.json", 0)]


def test_an_exception_leaves_the_run_interrupted(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), RunFolder.open(tmp_path, MANIFEST):
        raise ZeroDivisionError
    with RunFolder.open(tmp_path, MANIFEST) as run:
        assert run.resumed
        assert [one.state for one in run.sessions()] == ["interrupted", "running"]
        assert next(run.record.entries("x"), None) is None


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"config": {"rounds": 2, "student": {"model": "embedded"}}}, "config.rounds: 1 → 2"),
        (
            {"config": {"rounds": 1, "student": {"model": "embedded", "dtype": "x"}}},
            "config.student.dtype: nothing → x",
        ),
        ({"digests": {"environment": "b" * 64}}, f"digests.environment: {'a' * 12} → {'b' * 12}"),
        ({"seeds": {"run": 1}}, "seeds.run: 0 → 1"),
        ({"code": "d" * 64}, f"code: {'c' * 12} → {'d' * 12}"),
    ],
)
def test_a_run_is_not_resumed_as_another(tmp_path: Path, change: JsonObject, named: str) -> None:
    with RunFolder.open(tmp_path, MANIFEST):
        pass
    other = Manifest.model_validate_json(json.dumps(MANIFEST.document() | change))
    with pytest.raises(RunError) as caught, RunFolder.open(tmp_path, other):
        pass
    assert named in str(caught.value)
    assert "--out" in str(caught.value)
    with RunFolder.open(tmp_path, MANIFEST) as run:
        assert len(run.sessions()) == 2


def test_other_library_versions_are_logged_and_do_not_stop_the_run(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, MANIFEST):
        pass
    newer = MANIFEST.model_copy(update={"libraries": {"torch": "2.14.0"}})
    with RunFolder.open(tmp_path, newer) as run:
        assert list(run.record.bodies("libraries")) == [{"changed": ["torch: 2.13.0 → 2.14.0"]}]


def test_a_manifest_of_this_installation_names_code_and_libraries() -> None:
    made = Manifest.of({}, digests={}, seeds={})
    assert len(made.code) == 64
    assert "pydantic" in libraries()
    assert Manifest.model_validate_json(made.text()) == made


def test_the_code_digest_is_over_names_and_contents_and_not_over_places(tmp_path: Path) -> None:
    split, whole = tmp_path / "split", tmp_path / "whole"
    for path in (split / "pkg" / "a.py", split / "sub" / "b.yaml", whole / "a.py"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.suffix)
    (whole / "sub").mkdir()
    (whole / "sub" / "b.yaml").write_text(".yaml")
    (whole / "a.pyc").write_text("compiled")
    first = tree_digest({"pkg": split / "pkg", "pkg/sub": split / "sub"})
    assert (
        first
        == tree_digest({"pkg": whole})
        == tree_digest({"pkg": whole, "pkg/sub": whole / "sub"})
    )
    (whole / "sub" / "b.yaml").write_text(".yAml")
    changed = tree_digest({"pkg": whole})
    (whole / "sub" / "b.yaml").rename(whole / "sub" / "c.yaml")
    assert len({first, changed, tree_digest({"pkg": whole})}) == 3


@pytest.mark.parametrize("content", [b"", b"{", b'{"config": {}}', b"\xff\xfe"])
def test_a_damaged_manifest_is_an_error_not_a_new_run(tmp_path: Path, content: bytes) -> None:
    with RunFolder.open(tmp_path, MANIFEST):
        pass
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(RunError, match="damaged"), RunFolder.open(tmp_path, MANIFEST):
        pass
    with pytest.raises(RunError, match="damaged"), RunFolder.read(tmp_path):
        pass
    assert (tmp_path / "manifest.json").read_bytes() == content


def test_a_lost_event_log_is_an_error_not_an_empty_one(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, MANIFEST):
        pass
    (tmp_path / "events.db").unlink()
    with pytest.raises(RunError, match="no event log there"), RunFolder.open(tmp_path, MANIFEST):
        pass


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").write_text("years of work")
    with pytest.raises(RunError, match=r"holds 'thesis.doc'"), RunFolder.open(tmp_path, MANIFEST):
        pass
    assert [child.name for child in tmp_path.iterdir()] == ["thesis.doc"]
    file = tmp_path / "thesis.doc"
    with pytest.raises(RunError, match="is a file"), RunFolder.open(file, MANIFEST):
        pass
    with pytest.raises(RunError, match="not a run folder"), RunFolder.read(tmp_path):
        pass
    with pytest.raises(RunError, match="no such run folder"), RunFolder.read(tmp_path / "none"):
        pass


def test_a_start_that_died_before_the_manifest_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "lock").write_bytes(b"")
    (tmp_path / "events.db").write_bytes(b"")
    (tmp_path / ".manifest.json.abc.tmp").write_bytes(b"{")
    with RunFolder.open(tmp_path, MANIFEST) as run:
        assert not run.resumed
    assert not list(tmp_path.glob("*.tmp"))
    assert not list(tmp_path.glob(".*.tmp"))


def test_a_run_is_read_in_a_folder_that_may_not_be_written_to(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, MANIFEST) as run:
        run.record.append("x", {})
    tmp_path.chmod(0o555)
    try:
        if os.access(tmp_path, os.W_OK):
            pytest.skip("this user may write everywhere")
        with RunFolder.read(tmp_path) as viewer:
            assert list(viewer.record.bodies()) == [{}]
    finally:
        tmp_path.chmod(0o755)


def test_a_person_changes_a_run_under_its_lock_without_a_new_session(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, MANIFEST):
        refused = pytest.raises(RunError, match="in use by process")
        with refused, RunFolder.change(tmp_path):
            pass
    with RunFolder.change(tmp_path) as run:
        run.record.append("rollback", {})
        assert run.manifest == MANIFEST
    with RunFolder.read(tmp_path) as viewer:
        assert len(viewer.sessions()) == 1
        assert [entry.session for entry in viewer.record.entries("rollback")] == [1]
    with pytest.raises(RunError, match="no such run folder"), RunFolder.change(tmp_path / "none"):
        pass


# Two processes, and the death of one


def test_a_second_process_is_refused_with_the_first_ones_pid_and_host(tmp_path: Path) -> None:
    with steps(tmp_path, seconds=60) as first:
        ready(first)
        with steps(tmp_path) as second:
            _, complaint = second.communicate(timeout=30)
        assert second.returncode != 0
        assert f"in use by process {first.pid} on {os.uname().nodename}" in complaint
        with RunFolder.read(tmp_path) as viewer:
            assert viewer.state == "running"
        first.terminate()
        assert first.wait(timeout=30) == 143


def test_the_same_process_cannot_open_a_run_twice(tmp_path: Path) -> None:
    refused = pytest.raises(RunError, match=f"process {os.getpid()}")
    with RunFolder.open(tmp_path, MANIFEST), refused, RunFolder.open(tmp_path, MANIFEST):
        pass


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)],
)
def test_a_stopped_run_is_interrupted_and_does_only_what_is_missing(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    with steps(tmp_path) as first:
        ready(first)
        time.sleep(0.2)
        first.send_signal(number)
        assert first.wait(timeout=30) == code
    with RunFolder.read(tmp_path) as viewer:
        assert viewer.state == "interrupted"
        done = len(list(viewer.record.bodies("step")))
        assert 0 < done < 30
    with steps(tmp_path) as second:
        assert second.wait(timeout=30) == 0
    with RunFolder.read(tmp_path) as viewer:
        assert viewer.state == "finished"
        assert [one.state for one in viewer.sessions()] == ["interrupted", "finished"]
        entries = list(viewer.record.entries("step"))
    assert [entry.body["n"] for entry in entries] == list(range(30))
    assert [entry.session for entry in entries].count(1) == done


def test_a_forked_child_does_not_keep_the_lock_of_a_dead_parent(tmp_path: Path) -> None:
    script = (
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from evener.agents.record.lock import Lock\n"
        "lock = Lock.acquire(Path(sys.argv[1]))\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os.close(1)\n"
        "    time.sleep(20)\n"
        "    os._exit(0)\n"
        "print(child, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    parent = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "lock")],
        check=False,
        stdout=subprocess.PIPE,
        text=True,
        stderr=subprocess.DEVNULL,
    )
    child = int(parent.stdout)
    try:
        os.kill(child, 0)
        with RunFolder.open(tmp_path, MANIFEST):
            pass
    finally:
        os.kill(child, signal.SIGKILL)


# CPU-seconds


def burn(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_cpu_seconds_add_up_over_sessions_and_are_counted_once(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path / "other", MANIFEST):
        burn(0.1)
    before = process_cpu_seconds()
    with RunFolder.open(tmp_path / "run", MANIFEST) as run:
        burn(0.2)
        first = run.cpu_seconds()
    with RunFolder.open(tmp_path / "run", MANIFEST) as run:
        burn(0.2)
        assert run.cpu_seconds() >= first + 0.2
    used = process_cpu_seconds() - before
    with RunFolder.read(tmp_path / "run") as viewer:
        assert 0.4 <= viewer.cpu_seconds() <= used + 0.05


def test_the_heartbeat_writes_cpu_seconds_while_the_run_goes_on(tmp_path: Path) -> None:
    with Record.open(tmp_path / "events.db") as record:
        session = Session(record.database, beat_s=0.02)
        burn(0.1)
        time.sleep(0.1)
        (row,) = sessions(record.database)
        session.close()
    assert row.state == "running"
    assert row.cpu_seconds >= 0.1
    assert row.beat > row.started


def test_cpu_seconds_of_a_child_count_while_it_runs_and_once(tmp_path: Path) -> None:
    script = (
        "import time\nwhile time.process_time() < 0.5: pass\nprint('burnt', flush=True)\ninput()\n"
    )
    before = process_cpu_seconds()
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        running = process_cpu_seconds() - before
        child.communicate("\n")
    ended = process_cpu_seconds() - before
    assert running >= 0.45
    assert ended <= running + 0.3
