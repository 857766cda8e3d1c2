"""What is not as it was written, or was written by another evener, is said in one line."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from evener.agents.record.run import RunFolder
from evener.matrix.history import History
from evener.pool import pool
from evener.protocols.error import RunError
from evener.report.whole import summarize
from evener.study import report


def summary(run: Path) -> None:
    with RunFolder.read(run) as folder:
        summarize(folder)


def edit(run: Path, statement: str) -> None:
    with sqlite3.connect(run / "events.db") as database:
        assert database.execute(statement).rowcount > 0


def configured(run: Path, seed: int = 0, **search: object) -> Path:
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    plan = manifest["config"]["plan"]
    plan["seed"], plan["search"] = seed, plan["search"] | search
    (run / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return run


def test_a_key_of_another_version_is_named(run: Path) -> None:
    configured(run, speed=3)
    with pytest.raises(RunError, match=r"plan\.search\.speed, which this evener does not know"):
        summary(run)


def test_a_value_that_cannot_be_is_named_with_its_key(run: Path) -> None:
    configured(run, edits=0)
    with pytest.raises(
        RunError, match=r"cannot be read: plan\.search\.edits: .* greater.*evener that made it"
    ):
        summary(run)


@pytest.mark.parametrize(
    ("statement", "where"),
    [
        ("UPDATE entries SET body = '{' WHERE kind = 'cell'", r"entry \d+: damaged"),
        ("UPDATE episodes SET row = '{}'", r"episode \d+: damaged"),
    ],
)
def test_a_damaged_row_is_named(run: Path, statement: str, where: str) -> None:
    edit(run, statement)
    with pytest.raises(RunError, match=where):
        summary(run)


def test_a_log_without_its_beginning_is_damaged(run: Path) -> None:
    edit(run, "DELETE FROM entries WHERE kind = 'message'")
    with pytest.raises(RunError, match="does not say how it began"):
        History.read(run)


def test_seeds_are_pooled_beside_a_folder_that_is_none(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "study"
    shutil.copytree(run, out / "seed-0")
    shutil.copytree(run, out / "seed-old")
    assert report(out, command="evener demo").seeds == (0,)


def test_the_sentence_counts_the_seeds_that_its_figure_stands_on(run: Path, tmp_path: Path) -> None:
    other = configured(Path(shutil.copytree(run, tmp_path / "other")), seed=1)
    assert "paired, 2 seeds pooled" in pool([run, other]).verdict_sentence
    edit(other, "DELETE FROM entries WHERE kind = 'cell'")
    assert "paired, 1 of 2 seeds" in pool([run, other]).verdict_sentence
