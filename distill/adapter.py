"""A trained adapter on disk: built aside, hashed, and moved into place whole.

A folder counts only with a manifest whose hashes are right. One that is damaged, or was trained
from something else, is set aside under another name and never deleted.
"""

import errno
import json
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from evener.agents.record.beside import Entry, beside, file_sha256, settle
from evener.distill.rows.build import Row
from evener.distill.settings import SftSettings
from evener.distill.training.spec import Finished
from evener.protocols.digest import Wire
from evener.protocols.error import RunError
from evener.protocols.model import ModelRef
from evener.protocols.wire import ModelTrained

MANIFEST = "manifest.json"
ROWS = "rows.jsonl"
TEMPLATE = "chat_template.jinja"


class External(Wire):
    """How an adapter or a model came about outside: the command as it is configured, the digest of
    the file of rows, seconds, and the command's own figures."""

    command: tuple[str, ...]
    rows_sha256: str
    seconds: float
    metrics: dict[str, float | int | str] = {}


class AdapterManifest(Wire):
    """What an adapter was trained from, and what came of it.

    `key` is the digest of base, rows, masks, serving harness, settings and seed. `model` is None,
    and `reason` says why, for an adapter that failed its probe and is kept for inspection only.
    `external` says how one came about that was trained elsewhere: no optimiser setting decided it.
    """

    format: int = 1
    key: str
    name: str
    base: ModelRef
    model: ModelRef | None
    reason: str = ""
    serving_harness: str
    data_digest: str
    mask_digest: str
    settings: SftSettings
    seed: int
    rows: int
    refused: dict[str, int]
    untrained: dict[str, int]
    row_tokens: int
    trained_tokens: int
    finished: Finished
    external: External | None = None
    files: dict[str, Entry]

    def result(self, folder: Path) -> ModelTrained:
        """The answer to whoever asked for the training. `trained_tokens` counts every epoch; of a
        training elsewhere epochs are not known, and every token counts once."""
        epochs = self.settings.epochs if self.external is None else 1
        return ModelTrained(
            model=self.model,
            folder=str(folder) if self.model is not None else "",
            rows=self.rows,
            refused=self.refused,
            steps=len(self.finished.losses),
            loss_first=self.finished.losses[0] if self.finished.losses else None,
            loss_last=self.finished.losses[-1] if self.finished.losses else None,
            trained_tokens=self.trained_tokens * epochs,
            seconds=self.finished.seconds,
            reason=self.reason,
        )


def read_adapter(folder: Path) -> AdapterManifest | None:
    """The folder's manifest where it has one and every file is, byte for byte, what it says."""
    try:
        manifest = AdapterManifest.model_validate_json((folder / MANIFEST).read_bytes())
        for name, entry in manifest.files.items():
            path = folder / name
            if path.stat().st_size != entry.size or file_sha256(path) != entry.sha256:
                return None
    except (OSError, ValidationError):
        return None
    return manifest


def read_rows(folder: Path) -> tuple[Row, ...]:
    """The rows that an adapter was trained on. Raises RunError where they are missing."""
    try:
        lines = (folder / ROWS).read_text("utf-8").removesuffix("\n").split("\n")
        return tuple(Row.model_validate_json(line) for line in lines)
    except (OSError, ValueError) as error:
        raise RunError(
            "no training rows here",
            where=str(folder / ROWS),
            remedy="restore it; the adapter itself can still be used",
        ) from error


@contextmanager
def scratch(target: Path) -> Generator[Path]:
    """An empty folder beside `target`, removed at the end; so are those that killed runs left."""
    try:
        with beside(target) as folder:
            yield folder
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        free = shutil.disk_usage(target.parent).free
        raise RunError(
            f"no space left for the adapter ({free / 1e6:,.0f} MB free)",
            where=str(target),
            remedy="free some and run the same command again",
        ) from error


def seal(built: Path, target: Path, manifest: Wire) -> None:
    """Write the manifest last, and move the folder to its name."""
    text = json.dumps(manifest.document(), indent=2, sort_keys=True) + "\n"
    (built / MANIFEST).write_text(text, "utf-8")
    built.chmod(0o755)
    settle(built, target)


def set_aside(folder: Path) -> Path | None:
    """Move a folder that cannot be used out of the way; where it is now, None for none."""
    if not folder.exists():
        return None
    number = 1
    while (place := folder.with_name(f"{folder.name}.aside-{number}")).exists():
        number += 1
    return folder.rename(place)
