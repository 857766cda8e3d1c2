"""A tiny student is trained for real: the adapter is whole, served, and never trained twice."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evener.agents.models.local.adapter import adapter_ref
from evener.agents.models.local.engine import LocalEngine
from evener.agents.models.local.library import library
from evener.distill.adapter import MANIFEST, read_adapter, read_rows
from evener.distill.settings import SftSettings
from evener.distill.tuner import TrlFineTuner, warning
from evener.protocols.digest import JsonObject
from evener.protocols.error import DataError, InfraError, ModelError
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.trajectory import Outcome, Trajectory

BASE = ModelRef(base="tiny-student", revision="b" * 64)


def left_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def options(desk: Harness, **changes: Any) -> dict[str, Any]:
    return {"name": "m1", "serving": desk, "base": BASE, "seed": 11} | changes


@pytest.mark.slow
def test_a_training_that_is_killed_leaves_no_adapter_and_says_so(trained: Any) -> None:
    assert trained.killed is not None
    assert trained.killed.steps >= 1
    assert isinstance(trained.killed.error, InfraError)
    assert "killed" in str(trained.killed.error)
    # nor what an earlier process left behind
    assert trained.killed.left == []


@pytest.mark.slow
def test_the_loss_falls_and_the_student_learns_to_stop(trained: Any) -> None:
    made = trained.made
    assert made.model is not None, made.reason
    assert made.loss_last < made.loss_first / 2
    steps = [line for line in trained.heard if line["kind"] == "step"]
    assert [line["step"] for line in steps] == list(range(1, made.steps + 1))
    (finished,) = (line for line in trained.heard if line["kind"] == "finished")
    assert finished["shared"] is True
    assert finished["probe"]["stopped"] == finished["probe"]["asked"] == 3
    assert finished["probe"]["distance"] > 0


@pytest.mark.slow
def test_the_adapter_is_whole_and_says_what_it_was_made_of(
    trained: Any, desk: Harness, solved: list[Trajectory]
) -> None:
    folder = trained.runs / "m1"
    assert [place.name for place in trained.runs.iterdir()] == ["m1"]
    manifest = read_adapter(folder)
    assert manifest is not None
    assert set(manifest.files) == {
        "adapter_config.json",
        "adapter_model.safetensors",
        "chat_template.jinja",
        "rows.jsonl",
    }
    assert manifest.serving_harness == desk.digest()
    assert manifest.rows == len(solved) == trained.made.rows
    assert len(manifest.finished.losses) == trained.made.steps
    assert sum(row.trained for row in read_rows(folder)) == manifest.trained_tokens
    config = json.loads((folder / "adapter_config.json").read_text())
    # AD-01: a name that is served, no path of this machine, no whole modules
    assert config["base_model_name_or_path"] == BASE.base
    assert config["modules_to_save"] is None
    tensors = library("safetensors.torch").load_file(folder / "adapter_model.safetensors")
    assert {str(tensor.dtype) for tensor in tensors.values()} == {"torch.float32"}
    assert any("lora_B" in name and bool(x.any()) for name, x in tensors.items())


@pytest.mark.slow
async def test_the_engine_serves_it_under_the_very_ref_that_training_gave(
    trained: Any, student: Path
) -> None:
    assert trained.made.model == adapter_ref(BASE, "m1", Path(trained.made.folder))
    engine = LocalEngine(student)
    try:
        served = await engine.load_adapter("m1", Path(trained.made.folder))
    finally:
        await engine.close()
    assert served == adapter_ref(engine.ref, "m1", Path(trained.made.folder))


@pytest.mark.slow
async def test_equal_data_are_not_trained_on_twice(
    trained: Any, student: Path, desk: Harness, solved: list[Trajectory]
) -> None:
    heard: list[JsonObject] = []
    settings = read_adapter(trained.runs / "m1").settings  # type: ignore[union-attr]
    tuner = TrlFineTuner(student, settings, threads=1, progress=heard.append)
    again = await tuner.train(solved, folder=trained.runs / "m1", **options(desk))
    assert again == trained.made
    assert [line["kind"] for line in heard] == ["rows", "reused"]


def test_the_key_follows_data_serving_harness_base_settings_and_seed(
    student: Path, desk: Harness, solved: list[Trajectory]
) -> None:
    tuner = TrlFineTuner(student)
    rows = tuner.rows(solved, desk)
    keys = {
        tuner.key(rows, desk, BASE, 1),
        tuner.key(rows, desk, BASE, 2),
        tuner.key(tuner.rows(solved[1:], desk), desk, BASE, 1),
        tuner.key(rows, desk.model_copy(update={"name": "other"}), BASE, 1),
        tuner.key(rows, desk, ModelRef(base="tiny-student", revision="c"), 1),
        TrlFineTuner(student, SftSettings(rank=8)).key(rows, desk, BASE, 1),
    }
    assert len(keys) == 6
    assert tuner.key(tuner.rows(solved, desk), desk, BASE, 1) in keys


async def test_too_few_rows_train_nothing_and_give_the_counts(
    student: Path, desk: Harness, solved: list[Trajectory], tmp_path: Path
) -> None:
    failed = [e.model_copy(update={"outcome": Outcome.FAILED}) for e in solved[7:]]
    made = await TrlFineTuner(student).train(
        [*solved[:7], *failed], folder=tmp_path / "m1", **options(desk)
    )
    assert made.model is None
    assert made.rows == 7
    assert made.reason == (
        "nothing_to_train: 7 rows of at least 8 (finetune.min_rows); refused: not_solved 5"
    )
    assert left_in(tmp_path) == []


async def test_all_rows_dropped_by_truncation_train_nothing(
    student: Path, desk: Harness, solved: list[Trajectory], tmp_path: Path
) -> None:
    """CT-02: no run with a loss of 0, but the reason and the count."""
    tuner = TrlFineTuner(student, SftSettings(max_tokens=48))
    made = await tuner.train(solved[:8], folder=tmp_path / "m1", **options(desk))
    assert made.model is None
    assert made.refused == {"no_trainable_token": 8}
    assert made.reason.startswith("nothing_to_train")


def test_many_rows_lost_to_faults_are_a_warning_and_expected_refusals_are_none(
    student: Path, desk: Harness, solved: list[Trajectory]
) -> None:
    tuner = TrlFineTuner(student, SftSettings())
    failed = [e.model_copy(update={"outcome": Outcome.FAILED}) for e in solved[1:]]
    assert warning(tuner.rows([solved[0], *failed], desk)) == ""
    less = desk.model_copy(update={"tools": tuple(t for t in desk.tools if t.name != "lookup")})
    assert (
        warning(tuner.rows(solved, less))
        == "6 of 12 rows of chosen episodes cannot be used: unknown_action 6"
    )


def test_the_filter_of_the_settings_decides_whether_failed_episodes_are_taught(
    student: Path, desk: Harness, solved: list[Trajectory]
) -> None:
    failed = [e.model_copy(update={"outcome": Outcome.FAILED}) for e in solved]
    verified = TrlFineTuner(student, SftSettings()).rows(failed, desk)
    assert (len(verified.rows), verified.refused) == (0, {"not_solved": 12})
    every = TrlFineTuner(student, SftSettings(filter="all")).rows(failed, desk)
    assert (len(every.rows), every.refused) == (12, {})


async def test_an_adapter_is_no_base(
    student: Path, desk: Harness, solved: list[Trajectory], tmp_path: Path
) -> None:
    taken = ModelRef(base="tiny-student", adapter="m1", revision="d")
    with pytest.raises(ModelError, match="train from the base"):
        await TrlFineTuner(student).train(
            solved, folder=tmp_path / "m2", **options(desk, base=taken)
        )


async def test_unmarked_templates_are_refused_before_training_where_marks_are_asked_for(
    student: Path, desk: Harness, solved: list[Trajectory], tmp_path: Path
) -> None:
    """CT-01."""
    tuner = TrlFineTuner(student, SftSettings(mask="template"))
    tuner.renderer.tokenizer.chat_template = (
        "{% for m in messages %}<{{m.role}}>{{m.content}}</{{m.role}}>{% endfor %}"
    )
    with pytest.raises(DataError, match="marks no assistant tokens") as caught:
        await tuner.train(solved, folder=tmp_path / "m1", **options(desk))
    assert "tiny-student" in str(caught.value)
    assert 'finetune.mask = "spans"' in str(caught.value)
    assert "{% generation %}" in str(caught.value)


def test_a_worker_ends_when_nobody_waits_for_it_any_more() -> None:
    code = (
        "from evener.distill.training.worker import *; import time; end_with_parent(); "
        "time.sleep(60)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], stdin=subprocess.DEVNULL, timeout=30, check=False
    )
    assert done.returncode == 3


@pytest.mark.slow
def test_the_manifest_is_written_last(trained: Any) -> None:
    folder = trained.runs / "m1"
    times = {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    assert times[MANIFEST] == max(times.values())
