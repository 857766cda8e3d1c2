"""Processes by their number, as /proc lists them."""

import os
import signal
from contextlib import suppress
from pathlib import Path


def address_space() -> int:
    """The bytes that this process has mapped."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")


def mapped(user: int) -> bool:
    """Whether the user exists in this process's user namespace."""
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        first, _, count = (int(one) for one in line.split())
        if first <= user < first + count:
            return True
    return False


def parents() -> dict[int, int]:
    """The parent of every process that is no zombie."""
    found: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                # the name in parentheses may hold anything
                after_name = (entry / "stat").read_text().rpartition(")")[2]
                state, parent, *_ = after_name.split()
                if state != "Z":
                    found[int(entry.name)] = int(parent)
    return found


def end(pid: int) -> None:
    """Kill the process, if it is there."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
