"""Files that are whole or not there: written beside their place, made durable, then renamed."""

import contextlib
import errno
import os
import tempfile
from pathlib import Path

from evener.protocols.error import RunError

SUFFIX = ".tmp"


def write_atomically(path: Path, data: bytes | str) -> None:
    """Replace the file at `path`. If that fails the old file stays as it was, nothing is left
    beside it, and RunError says what was needed."""
    content = data.encode() if isinstance(data, str) else data
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(
            prefix=f".{path.name}.", suffix=SUFFIX, dir=path.parent
        )
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        os.replace(temporary, path)  # noqa: PTH105 - the temporary name is a str here
        temporary = None
        flush(path.parent)
    except OSError as error:
        raise write_error(path, error, needed=len(content)) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def write_error(path: Path, error: OSError, *, needed: int | None = None) -> RunError:
    """What a failed write means for the person who runs this."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    what = "disk full" if full else f"cannot be written: {error.strerror or error}"
    size = f" ({needed} bytes needed)" if needed is not None else ""
    return RunError(
        what + size,
        where=str(path),
        remedy="what was there before is intact; make room and run again"
        if full
        else "what was there before is intact",
    )


def flush(path: Path) -> None:
    """Make the bytes of a file, or the names in a folder, durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sweep(folder: Path) -> None:
    """Remove what an interrupted `write_atomically` left in a folder; only under its lock."""
    for left in folder.glob(f".*{SUFFIX}"):
        if left.is_file() and not left.is_symlink():
            left.unlink()
