"""The folder of prepared models: each is built aside, hashed, and moved into place whole.

Invariant: a folder that carries a manifest is complete. What a killed process left behind never
carries one, is never used, and is removed by the next process that builds the same model.
"""

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from evener.agents.models.home import expanded
from evener.agents.models.local.library import library
from evener.agents.record.beside import (
    Entry,
    beside,
    entries,
    file_sha256,
    remove_leftovers,
    settle,
)
from evener.protocols.digest import Wire, digest
from evener.protocols.error import ModelError

MANIFEST = "evener-model.json"


class Manifest(Wire):
    """What a prepared model consists of. `revision` names its content; `source` its origin."""

    format: int = 1
    name: str
    source: str
    files: dict[str, Entry]

    @property
    def revision(self) -> str:
        """SHA-256 over the names and hashes of all files."""
        return revision_of({name: entry.sha256 for name, entry in self.files.items()})


def revision_of(hashes: dict[str, str]) -> str:
    """SHA-256 over file names and their SHA-256s, independent of their order."""
    return digest({name: hashes[name] for name in sorted(hashes)})


def cache_root() -> Path:
    """`$EVENER_CACHE`, or `~/.cache/evener`."""
    configured = os.environ.get("EVENER_CACHE")
    return expanded(configured) if configured else Path.home() / ".cache" / "evener"


def read_manifest(folder: Path) -> Manifest | None:
    """The folder's manifest if it has one and every file has its size; else None."""
    try:
        manifest = Manifest.model_validate_json((folder / MANIFEST).read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValidationError, UnicodeDecodeError):
        return None
    for name, entry in manifest.files.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != entry.size:
            return None
    return manifest


def damaged_files(folder: Path) -> tuple[str, ...]:
    """Names of files whose bytes differ from the manifest; all bytes are read."""
    manifest = read_manifest(folder)
    if manifest is None:
        return (MANIFEST,)
    return tuple(n for n, e in manifest.files.items() if file_sha256(folder / n) != e.sha256)


def require_space(folder: Path, needed: int) -> None:
    """Raise ModelError unless the file system of `folder` has `needed` bytes free."""
    existing = folder
    while not existing.exists():
        existing = existing.parent
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise _no_space(folder, needed, free)


def prepared(root: Path, name: str) -> Path | None:
    """The complete model `name` under `root`, or None."""
    folder = root / "models" / name
    return folder if read_manifest(folder) is not None else None


def prepare(
    root: Path, name: str, *, source: str, needed: int, build: Callable[[Path], None]
) -> Path:
    """The folder of model `name`; `build` fills an empty folder if it is not there yet.

    One process builds at a time and the others wait for it. `needed` is the free space in bytes
    that building takes. ModelError when the space, or the right to write, is missing.
    """
    target = root / "models" / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with library("filelock").FileLock(str(target.parent / f".{name}.lock")):
            if prepared(root, name) is not None:
                return target
            # the lock is ours, so nobody uses them
            remove_leftovers(target)
            require_space(target.parent, needed)
            _build_aside(target, source, build)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            free = shutil.disk_usage(root).free
            raise _no_space(target.parent, needed, free) from error
        raise ModelError(
            f"the model cannot be stored: {error.strerror or error}",
            where=str(error.filename or target),
            remedy="set EVENER_CACHE to a folder that can be written",
        ) from error
    return target


def _build_aside(target: Path, source: str, build: Callable[[Path], None]) -> None:
    """Build in a sibling folder, write the manifest last, and move it into place."""
    with beside(target) as scratch:
        build(scratch)
        manifest = Manifest(name=target.name, source=source, files=entries(scratch))
        text = json.dumps(manifest.document(), indent=2) + "\n"
        (scratch / MANIFEST).write_text(text, "utf-8")
        if target.exists():
            # no complete manifest, or `prepare` would have returned it
            shutil.rmtree(target)
        settle(scratch, target)


def _no_space(folder: Path, needed: int, free: int) -> ModelError:
    return ModelError(
        f"no space: needs {_megabytes(needed)}, has {_megabytes(free)}",
        where=str(folder),
        remedy="set EVENER_CACHE to a folder on a larger disk",
    )


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"
