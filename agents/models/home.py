"""A path as a person writes it, with `~`."""

from pathlib import Path


def expanded(path: str) -> Path:
    """The path with the home folder in place of `~`; as it stands where there is no such user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
