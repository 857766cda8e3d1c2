"""Folders that are complete or not taken: a seal lists every file with its size and SHA-256.

They are written beside their place and renamed once sealed, so that a kill leaves no half of one;
what has no valid seal is skipped with the reason, and never deleted.
"""

import contextlib
import hashlib
import json
from collections.abc import Generator
from pathlib import Path

from evener.agents.record.atomic import write_atomically, write_error
from evener.agents.record.beside import Entry, beside, file_sha256, settle
from evener.agents.record.name import safe_name
from evener.protocols.error import RunError

SEAL = "sealed.json"


def seal(folder: Path) -> str:
    """Write the seal; returns its digest, the folder's identity.

    Raises RunError for a folder without files or with symbolic links.
    """
    files = _files(folder)
    if not files:
        raise RunError("nothing to seal: the folder has no files", where=str(folder))
    text = _text({f.relative_to(folder).as_posix(): Entry.of(f).document() for f in files})
    write_atomically(folder / SEAL, text)
    return hashlib.sha256(text).hexdigest()


def verify(folder: Path) -> None:
    """Raises RunError that lists all `faults`."""
    found = faults(folder)
    if found:
        raise RunError("; ".join(found), where=str(folder), remedy="nothing was deleted")


def faults(folder: Path) -> tuple[str, ...]:
    """Every file that is missing, changed or not sealed; empty for a folder that is whole."""
    try:
        text = (folder / SEAL).read_bytes()
        listing: dict[str, dict[str, object]] = json.loads(text)["files"]
        wanted = {str(name): (entry["size"], entry["sha256"]) for name, entry in listing.items()}
        damaged = text != _text(listing)
    except OSError:
        return (f"no {SEAL}: it was not written to its end",)
    except (ValueError, KeyError, TypeError, AttributeError):
        damaged, wanted = True, {}
    if damaged:
        return (f"{SEAL} is damaged",)
    try:
        there = {file.relative_to(folder).as_posix(): file for file in _files(folder)}
    except RunError as error:
        return (error.what,)
    found = [f"{name} is missing" for name in sorted(wanted.keys() - there.keys())]
    found += [f"{name} is not sealed" for name in sorted(there.keys() - wanted.keys())]
    for name in sorted(wanted.keys() & there.keys()):
        size, sha256 = wanted[name]
        if there[name].stat().st_size != size:
            found.append(f"{name} has {there[name].stat().st_size} bytes, {size} were sealed")
        elif file_sha256(there[name]) != sha256:
            found.append(f"{name} was changed")
    return tuple(found)


def complete(parent: Path) -> tuple[tuple[Path, ...], dict[str, str]]:
    """The folders in `parent` with a valid seal, by name, and why each other one is skipped."""
    whole: list[Path] = []
    skipped: dict[str, str] = {}
    folders = sorted(parent.iterdir()) if parent.is_dir() else []
    for folder in folders:
        if folder.is_dir() and not folder.name.startswith("."):
            found = faults(folder)
            if found:
                skipped[folder.name] = "; ".join(found)
            else:
                whole.append(folder)
    return tuple(whole), skipped


@contextlib.contextmanager
def sealing(folder: Path) -> Generator[Path]:
    """A folder to write to; sealed and renamed to `folder` when the block ends well, gone if not.

    Raises RunError where `folder` is taken by something with or without a seal, RunError on a
    full disk.
    """
    safe_name(folder.name, what="folder")
    if folder.exists():
        raise RunError("is there already", where=str(folder), remedy="give another name")
    try:
        with beside(folder) as work:
            yield work
            seal(work)
            settle(work, folder)
    except OSError as error:
        raise write_error(folder, error) from error


def _files(folder: Path) -> list[Path]:
    found: list[Path] = []
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            raise RunError(f"{path.relative_to(folder)} is a symbolic link", where=str(folder))
        if path.is_file() and path != folder / SEAL:
            found.append(path)
    return found


def _text(listing: object) -> bytes:
    return (json.dumps({"files": listing}, indent=1, sort_keys=True) + "\n").encode()
