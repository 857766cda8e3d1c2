"""Removing a folder that hostile code has filled."""

import shutil
import subprocess
from pathlib import Path


def remove(folder: Path) -> None:
    """Remove the folder with all that is in it: folders closed to their owner and thousands of
    folders inside each other too, which `shutil.rmtree` gives up on. No link is followed."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            subprocess.run(
                [*command, "--", str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )
