"""The adapter's folder: whole or not there, and nothing that cannot be used is deleted."""

import errno
import shutil
from pathlib import Path
from typing import Any

import pytest

from evener.distill.adapter import MANIFEST, read_adapter, scratch, set_aside
from evener.distill.settings import SftSettings
from evener.distill.tuner import TrlFineTuner
from evener.protocols.digest import JsonObject
from evener.protocols.error import InfraError, RunError
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.trajectory import Trajectory

TENSORS = "adapter_model.safetensors"


def names_in(folder: Path) -> list[str]:
    return sorted(place.name for place in folder.iterdir())


@pytest.fixture
def copied(trained: Any, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained.runs / "m1", tmp_path / "models" / "m1"))


@pytest.mark.slow
def test_a_whole_folder_is_read(copied: Path) -> None:
    assert read_adapter(copied) is not None


@pytest.mark.slow
def test_cut_changed_missing_and_unsealed_folders_do_not_count(copied: Path) -> None:
    """RS-03."""
    tensors = (copied / TENSORS).read_bytes()
    (copied / TENSORS).write_bytes(tensors[:100])
    assert read_adapter(copied) is None
    (copied / TENSORS).write_bytes(tensors[:-1] + bytes([tensors[-1] ^ 1]))
    assert read_adapter(copied) is None
    (copied / TENSORS).unlink()
    assert read_adapter(copied) is None
    (copied / TENSORS).write_bytes(tensors)
    assert read_adapter(copied) is not None
    (copied / MANIFEST).write_bytes(b"")
    assert read_adapter(copied) is None
    assert read_adapter(copied.with_name("m2")) is None


@pytest.mark.slow
async def test_a_damaged_adapter_is_set_aside_not_deleted_and_trained_anew(
    copied: Path, student: Path, desk: Harness, solved: list[Trajectory]
) -> None:
    """RS-03: the reason is said. The new training is stopped as soon as it is asked for."""

    class Enough(Exception):
        pass

    heard: list[JsonObject] = []

    def listen(line: JsonObject) -> None:
        heard.append(line)
        if line["kind"] == "set_aside":
            raise Enough

    manifest = read_adapter(copied)
    assert manifest is not None
    (copied / TENSORS).write_bytes(b"half")
    tuner = TrlFineTuner(student, manifest.settings, threads=1, progress=listen)
    with pytest.raises(Enough):
        await tuner.train(
            solved, name="m1", serving=desk, base=manifest.base, folder=copied, seed=11
        )
    aside = copied.with_name("m1.aside-1")
    assert heard[-1] == {
        "kind": "set_aside",
        "folder": str(aside),
        "reason": "damaged or incomplete",
    }
    assert names_in(copied.parent) == ["m1.aside-1"]
    assert (aside / TENSORS).read_bytes() == b"half"


def test_setting_aside_twice_takes_another_name(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / "m1").mkdir()
        assert set_aside(tmp_path / "m1") == tmp_path / f"m1.aside-{number}"
    assert set_aside(tmp_path / "m1") is None


def test_a_full_disk_is_one_clear_line_and_leaves_nothing(tmp_path: Path) -> None:
    """RS-07."""
    with (
        pytest.raises(RunError, match="no space left for the adapter"),
        scratch(tmp_path / "m1"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert not any(tmp_path.iterdir())


async def test_a_worker_that_fails_says_its_last_line(
    student: Path, desk: Harness, solved: list[Trajectory], tmp_path: Path
) -> None:
    gone = Path(shutil.copytree(student, tmp_path / "gone" / student.name))
    tuner = TrlFineTuner(gone, SftSettings(), threads=1)
    tuner.rows(solved, desk)
    shutil.rmtree(gone)
    base = ModelRef(base="tiny-student", revision="b" * 64)
    folder = tmp_path / "models" / "m1"
    with pytest.raises(InfraError, match=r"ended with 1: .*gone/tiny-student"):
        await tuner.train(solved, name="m1", serving=desk, base=base, folder=folder, seed=1)
    assert names_in(folder.parent) == []
