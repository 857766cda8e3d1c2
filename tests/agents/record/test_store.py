"""The record of a run: what was written is there, once, whole, and known to be undamaged."""

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from evener.agents.record.reply import ReplyStore
from evener.agents.record.schema import Database
from evener.agents.record.store import Record
from evener.protocols.error import RunError
from evener.protocols.harness import Harness, Prompt
from evener.protocols.message import Message
from evener.protocols.model import ModelRef, Usage
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Outcome, Score, Trajectory

MODEL = ModelRef(base="small", revision="r1")


def trajectory(
    number: int = 0,
    *,
    outcome: Outcome = Outcome.SOLVED,
    purpose: Purpose = Purpose.MINE,
    text: str = "café 日本",
) -> Trajectory:
    task = Task(id=f"t{number}", split=Split.MINE, kind="sum", prompt="What is 1 + 1?")
    key = EpisodeKey(
        task=task.id,
        prompt_digest="p",
        harness="abc123",
        model=MODEL.revision,
        purpose=purpose,
        seed=7,
    )
    return Trajectory(
        id=key.id(),
        key=key,
        task=task,
        model=MODEL,
        messages=(Message(role="assistant", content=text, sampled=True),),
        events=(),
        outcome=outcome,
        score=Score(value=1.0, verdict="correct"),
        usage=Usage(calls=2, completion_tokens=5),
    )


def test_a_value_comes_back_equal_and_is_stored_once(tmp_path: Path) -> None:
    harness = Harness(name="h", prompt=Prompt(system="Be brief. {{ x }} é"))
    with Record.open(tmp_path / "events.db") as record:
        assert record.put(harness) == record.put(harness) == harness.digest()
        assert record.get(Harness, harness.digest()) == harness
        assert record.database.rows("SELECT count(*) FROM objects") == [(1,)]
    with Record.open(tmp_path / "events.db") as record:
        assert record.get(Harness, harness.digest()) == harness


def test_a_missing_or_foreign_value_is_a_run_error(tmp_path: Path) -> None:
    with Record.open(tmp_path / "events.db") as record:
        with pytest.raises(RunError, match="no Harness with this digest"):
            record.get(Harness, "0" * 64)
        digest = record.put(MODEL)
        with pytest.raises(RunError, match="stored as ModelRef, cannot be read as Harness"):
            record.get(Harness, digest)


@pytest.mark.parametrize("damage", ["flip", "cut", "swap"])
def test_a_damaged_body_is_found(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "events.db"
    with Record.open(path) as record:
        digest = record.put(Harness(name="h"))
        other = record.put(Harness(name="other"))
        body: bytes = record.database.rows("SELECT body FROM objects WHERE digest = ?", (digest,))[
            0
        ][0]
        broken = {"flip": body[:-1] + bytes([body[-1] ^ 1]), "cut": body[:10], "swap": b""}[damage]
        if damage == "swap":
            broken = record.database.rows("SELECT body FROM objects WHERE digest = ?", (other,))[0][
                0
            ]
        record.database.rows("UPDATE objects SET body = ? WHERE digest = ?", (broken, digest))
        with pytest.raises(RunError, match="damaged"):
            record.get(Harness, digest)


def test_a_finished_episode_has_body_index_and_entry(tmp_path: Path) -> None:
    done = trajectory()
    with Record.open(tmp_path / "events.db") as record:
        assert record.finished(done.key) is None
        digest = record.finish(done)
        assert digest == done.digest() == record.finished(done.key)
        assert record.get(Trajectory, digest) == done
        (row,) = record.trajectories()
        assert (row.trajectory, row.outcome, row.calls) == (digest, Outcome.SOLVED, 2)
        (entry,) = record.entries("episode")
        assert (entry.body["trajectory"], entry.body["key"]) == (digest, done.key.id())


def test_a_key_is_finished_once_and_the_first_trajectory_stays(tmp_path: Path) -> None:
    first, second = trajectory(text="first"), trajectory(text="second")
    with Record.open(tmp_path / "events.db") as record:
        kept = record.finish(first)
        assert record.finish(first) == kept
        assert list(record.entries("repeated")) == []
        assert record.finish(second) == kept
        assert [entry.body for entry in record.entries("repeated")] == [
            {"key": first.key.id(), "kept": kept, "offered": second.digest()}
        ]
        assert len(list(record.entries("episode"))) == 1
        assert len(list(record.trajectories())) == 1


def test_an_infra_episode_is_kept_but_is_not_finished(tmp_path: Path) -> None:
    broken = trajectory(outcome=Outcome.INFRA)
    with Record.open(tmp_path / "events.db") as record:
        record.finish(broken)
        record.finish(broken)
        assert record.finished(broken.key) is None
        (row, _) = record.trajectories(outcome=Outcome.INFRA)
        assert row.reward is None
        solved = trajectory()
        assert record.finish(solved) == record.finished(solved.key)


def test_an_episode_is_written_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    with Record.open(tmp_path / "events.db") as record:
        record.database.rows("DROP INDEX finished_once")
        record.database.rows("ALTER TABLE episodes RENAME TO gone")
        with pytest.raises(RunError):
            record.finish(trajectory())
        assert list(record.entries()) == []
        assert record.database.rows("SELECT count(*) FROM objects") == [(0,)]


def test_trajectories_are_filtered(tmp_path: Path) -> None:
    with Record.open(tmp_path / "events.db") as record:
        for number in range(3):
            record.finish(trajectory(number))
        record.finish(trajectory(3, purpose=Purpose.COLLECT, outcome=Outcome.FAILED))
        assert [row.task for row in record.trajectories()] == ["t0", "t1", "t2", "t3"]
        assert [row.task for row in record.trajectories(purpose=Purpose.COLLECT)] == ["t3"]
        assert [row.task for row in record.trajectories(outcome=Outcome.FAILED)] == ["t3"]
        assert len(list(record.trajectories(harness="abc", model="r1", split=Split.MINE))) == 4
        assert list(record.trajectories(harness="bc")) == []
        assert list(record.trajectories(split=Split.TEST)) == []


def test_entries_are_numbered_and_read_in_order_while_others_are_written(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    with Record.open(path) as record, Record.read(path) as viewer:
        assert [record.append("a", {"n": n}) for n in range(700)] == list(range(1, 701))
        seen = viewer.entries("a")
        assert next(seen).body == {"n": 0}
        record.append("b", {})
        record.append("a", {"n": 700})
        assert [entry.body["n"] for entry in seen] == list(range(1, 701))
        assert [entry.kind for entry in viewer.entries(after=700)] == ["b", "a"]
        assert list(viewer.bodies("b")) == [{}]
        with pytest.raises(RunError, match="readonly"):
            viewer.append("a", {})


def test_text_that_is_no_unicode_survives_in_the_log(tmp_path: Path) -> None:
    with Record.open(tmp_path / "events.db") as record:
        record.append("odd", {"text": "half \ud800 é"})
        assert next(record.entries()).body == {"text": "half \ud800 é"}


def test_threads_share_the_record(tmp_path: Path) -> None:
    with Record.open(tmp_path / "events.db") as record:

        def write(number: int) -> None:
            for step in range(20):
                record.finish(trajectory(number * 20 + step))

        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({row.task for row in record.trajectories()}) == 80


def test_replies_are_kept_by_key_and_the_first_stays(tmp_path: Path) -> None:
    with Record.open(tmp_path / "events.db") as record:
        replies = ReplyStore(record.database)
        assert replies.get("k") is None
        replies.put("k", b"one")
        replies.put("k", b"two")
        assert replies.get("k") == b"one"


# What a crash, a full disk or another program leaves


def test_what_was_committed_survives_sigkill(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from evener.agents.record.schema import Database\n"
        "from evener.agents.record.store import Record\n"
        "record = Record(Database.create(Path(sys.argv[1])))\n"
        "for number in range(50):\n"
        "    record.append('step', {'n': number})\n"
        "record.database.rows('BEGIN')\n"
        "record.append('step', {'n': 'torn'})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "events.db"
    ended = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert ended.returncode == -9
    with Record.open(path) as record:
        assert [entry.body["n"] for entry in record.entries()] == list(range(50))
        assert record.append("step", {"n": 50}) == 51


def test_a_log_cut_anywhere_in_its_tail_opens_and_goes_on(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    database = Database.create(source / "events.db")
    record = Record(database)
    database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    record.append("e", {"id": "e1"})
    whole = (source / "events.db-wal").stat().st_size
    record.append("e", {"id": "e2", "text": "café"})
    tail = (source / "events.db-wal").stat().st_size
    for cut in range(whole, tail, 173):
        copy = tmp_path / f"cut{cut}"
        shutil.copytree(source, copy)
        (copy / "events.db-shm").unlink()
        os.truncate(copy / "events.db-wal", cut)
        with Record.open(copy / "events.db") as cutted:
            assert [entry.body["id"] for entry in cutted.entries()] == ["e1"]
            cutted.append("e", {"id": "e3"})
        with Record.open(copy / "events.db") as again:
            assert [entry.body["id"] for entry in again.entries()] == ["e1", "e3"]
    database.close()


def fill(record: Record) -> None:
    for _ in range(100):
        record.append("filler", {"text": "x" * 4000})


def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    with Record.open(path) as record:
        record.append("good", {})
        record.database.rows("PRAGMA max_page_count = 20")
        with pytest.raises(RunError, match="disk full") as caught:
            fill(record)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
    with Record.open(path) as record:
        assert next(record.entries()).kind == "good"
        record.append("good", {})


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "damaged: the event log is empty"),
        (b"not a database at all, but long enough to look at " * 100, "damaged"),
    ],
)
def test_a_damaged_file_is_never_taken_for_a_new_one(
    tmp_path: Path, content: bytes, why: str
) -> None:
    path = tmp_path / "events.db"
    path.write_bytes(content)
    for opening in (Database.open, Database.read):
        with pytest.raises(RunError, match=why):
            opening(path)
    assert path.read_bytes() == content


def test_a_foreign_or_newer_database_is_refused(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE entries (a)")
    connection.close()
    with pytest.raises(RunError, match="no event log of evener"):
        Database.open(foreign)
    newer = tmp_path / "newer.db"
    database = Database.create(newer)
    database.rows("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(RunError, match=r"newer evener \(format 99"):
        Database.read(newer)
    with pytest.raises(RunError, match="no event log there"):
        Database.read(tmp_path / "none.db")
