"""Folders that are built beside their place and moved there whole, with what their files were.

Invariant: what stands at the place was complete when it was moved. A killed process leaves a
folder `.NAME.part-…` beside it, which is never used and removed by the next one that builds there.
"""

import contextlib
import hashlib
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

from evener.agents.record.atomic import flush
from evener.protocols.digest import Wire


class Entry(Wire):
    """One file: its size in bytes and its SHA-256."""

    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> "Entry":
        """The file as it is now."""
        return cls(size=path.stat().st_size, sha256=file_sha256(path))


def file_sha256(path: Path) -> str:
    """SHA-256 of the file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def entries(folder: Path) -> dict[str, Entry]:
    """Every file of a folder by its path inside it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): Entry.of(path) for path in files}


@contextlib.contextmanager
def beside(place: Path) -> Generator[Path]:
    """An empty folder beside `place`, gone at the end unless it was moved; so are those that killed
    processes left. For one process at a time."""
    place.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(place)
    work = Path(tempfile.mkdtemp(prefix=f".{place.name}.part-", dir=place.parent))
    work.chmod(0o755)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def remove_leftovers(place: Path) -> None:
    """Remove what killed processes left beside `place`."""
    for left in place.parent.glob(f".{place.name}.part-*"):
        shutil.rmtree(left, ignore_errors=True)


def settle(work: Path, place: Path) -> None:
    """Make every file durable and readable like the rest, for safetensors writes 0600; then move
    the folder to its place."""
    for path in work.rglob("*"):
        if path.is_file():
            path.chmod(0o644)
            flush(path)
    flush(work)
    work.rename(place)
    flush(place.parent)
