"""A digest over a model's files, so that a reply can name the weights that gave it.

A prepared model has its hashes in its manifest. For any other folder they are computed once and
kept in the cache under size and time of change of each file, so that a start stays fast.
"""

import tempfile
from pathlib import Path

from evener.agents.models.local.store import cache_root, read_manifest, revision_of
from evener.agents.record.beside import file_sha256
from evener.protocols.digest import JsonObject, digest

_PARTS = ("*.safetensors", "*.json", "*.jinja", "*.model", "merges.txt")
_NOT_PARTS = ("evener-model.json", "README.json")


def model_revision(folder: Path) -> str:
    """SHA-256 over the hashes of weights, settings, tokenizer and chat template."""
    manifest = read_manifest(folder)
    if manifest is not None:
        return manifest.revision
    paths = {path for pattern in _PARTS for path in folder.glob(pattern)}
    names = sorted(path.name for path in paths if path.name not in _NOT_PARTS)
    return revision_of({name: _known_sha256(folder / name) for name in names})


def _known_sha256(path: Path) -> str:
    """The file's SHA-256, from the cache where it was computed for the same state of the file."""
    state = path.stat()
    if state.st_size < 1 << 20:
        return file_sha256(path)
    identity: JsonObject = {
        "path": str(path.resolve()),
        "size": state.st_size,
        "time": state.st_mtime_ns,
    }
    note = cache_root() / "hashes" / digest(identity)
    try:
        known = note.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        known = ""
    if len(known) == 64:
        return known
    found = file_sha256(path)
    _write_note(note, found)
    return found


def _write_note(note: Path, text: str) -> None:
    """Keep a hash for the next start; a cache that cannot be written costs time only."""
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=note.parent, delete=False) as sink:
            sink.write(text + "\n")
        Path(sink.name).replace(note)
    except OSError:
        return
