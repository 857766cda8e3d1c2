import os
from pathlib import Path

import pytest

from evener.agents.models.local.revision import model_revision

LARGE = 1 << 20


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVENER_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "model"
    path.mkdir()
    (path / "config.json").write_text("{}")
    (path / "model.safetensors").write_bytes(b"w" * LARGE)
    return path


def test_a_large_file_is_hashed_once_and_again_when_it_changes(
    folder: Path, tmp_path: Path
) -> None:
    first = model_revision(folder)
    (note,) = (tmp_path / "cache" / "hashes").iterdir()
    assert model_revision(folder) == first
    # the note is what is read: a false one shows
    note.write_text("0" * 64)
    assert model_revision(folder) != first
    weights = folder / "model.safetensors"
    weights.write_bytes(b"v" * LARGE)
    os.utime(weights, ns=(1, 1))
    changed = model_revision(folder)
    weights.write_bytes(b"w" * LARGE)
    os.utime(weights, ns=(2, 2))
    assert model_revision(folder) == first != changed


def test_settings_and_templates_count(folder: Path) -> None:
    first = model_revision(folder)
    (folder / "chat_template.jinja").write_text("x")
    second = model_revision(folder)
    (folder / "README.md").write_text("not a part of the model")
    assert len({first, second}) == 2
    assert model_revision(folder) == second


def test_a_cache_that_cannot_be_written_costs_time_only(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = model_revision(folder)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EVENER_CACHE", str(tmp_path / "file"))
    assert model_revision(folder) == first
