import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evener.agents.models.local import store
from evener.protocols.error import ModelError


def write_weights(folder: Path) -> None:
    (folder / "weights").write_bytes(b"w" * 100)
    (folder / "sub").mkdir()
    (folder / "sub" / "config").write_text("{}")


def build(root: Path) -> Path:
    return store.prepare(root, "m", source="test", needed=10, build=write_weights)


def refuse(folder: Path) -> None:
    raise AssertionError("the model was built twice")


def test_a_prepared_model_lists_every_file_with_size_and_hash(tmp_path: Path) -> None:
    folder = build(tmp_path)
    manifest = store.read_manifest(folder)
    assert manifest is not None
    assert set(manifest.files) == {"weights", "sub/config"}
    assert manifest.files["weights"].size == 100
    assert store.damaged_files(folder) == ()


def test_a_prepared_model_is_not_built_again(tmp_path: Path) -> None:
    folder = build(tmp_path)
    assert store.prepare(tmp_path, "m", source="test", needed=10, build=refuse) == folder


def test_a_folder_without_a_manifest_is_never_used_and_is_replaced(tmp_path: Path) -> None:
    half = tmp_path / "models" / "m"
    half.mkdir(parents=True)
    (half / "weights").write_bytes(b"half")
    assert store.prepared(tmp_path, "m") is None
    assert (build(tmp_path) / "weights").read_bytes() == b"w" * 100


def test_a_file_cut_short_after_preparation_makes_the_model_rebuild(tmp_path: Path) -> None:
    folder = build(tmp_path)
    (folder / "weights").write_bytes(b"w" * 99)
    assert store.prepared(tmp_path, "m") is None
    assert (build(tmp_path) / "weights").stat().st_size == 100


def test_changed_bytes_of_equal_size_are_found_by_the_full_check(tmp_path: Path) -> None:
    folder = build(tmp_path)
    (folder / "weights").write_bytes(b"x" * 100)
    assert store.damaged_files(folder) == ("weights",)


def test_the_revision_changes_with_any_file(tmp_path: Path) -> None:
    first = store.read_manifest(build(tmp_path))
    assert first is not None
    other = store.revision_of({"weights": "0" * 64, "sub/config": "1" * 64})
    assert first.revision != other
    assert other == store.revision_of({"sub/config": "1" * 64, "weights": "0" * 64})


def test_a_build_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        write_weights(folder)
        raise ModelError("broken")

    with pytest.raises(ModelError, match="broken"):
        store.prepare(tmp_path, "m", source="test", needed=10, build=fail)
    assert [p.name for p in (tmp_path / "models").iterdir() if p.is_dir()] == []


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    leftover = tmp_path / "models" / ".m.part-dead"
    leftover.mkdir(parents=True)
    build(tmp_path)
    assert not leftover.exists()


def test_too_little_space_is_one_line_with_need_place_and_remedy(tmp_path: Path) -> None:
    needed = shutil.disk_usage(tmp_path).free * 2
    with pytest.raises(ModelError, match=r"no space: needs .* MB, has .* MB") as caught:
        store.prepare(tmp_path, "m", source="test", needed=needed, build=refuse)
    assert str(tmp_path) in str(caught.value)
    assert "EVENER_CACHE" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_disk_that_fills_up_while_building_is_the_same_line(tmp_path: Path) -> None:
    def fill(folder: Path) -> None:
        raise OSError(28, os.strerror(28), str(folder / "weights"))

    with pytest.raises(ModelError, match="no space"):
        store.prepare(tmp_path, "m", source="test", needed=10, build=fill)


def test_a_cache_that_cannot_be_written_says_which_setting_to_change(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(ModelError, match="EVENER_CACHE"):
        store.prepare(blocked, "m", source="test", needed=10, build=write_weights)


BUILD = """
import os, sys, time
from pathlib import Path
from evener.agents.models.local import store

def slowly(folder: Path) -> None:
    (Path(sys.argv[1]) / f"built-{os.getpid()}").write_text("")
    time.sleep(0.3)
    (folder / "weights").write_bytes(b"w" * 100)

store.prepare(Path(sys.argv[1]), "m", source="test", needed=10, build=slowly)
"""


def test_two_processes_build_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BUILD, str(tmp_path)]
    workers = [subprocess.Popen(command) for _ in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    assert len(list(tmp_path.glob("built-*"))) == 1


def test_a_manifest_of_unknown_shape_is_not_trusted(tmp_path: Path) -> None:
    folder = build(tmp_path)
    manifest = json.loads((folder / store.MANIFEST).read_text())
    (folder / store.MANIFEST).write_text(json.dumps(manifest | {"extra": 1}))
    assert store.prepared(tmp_path, "m") is None
