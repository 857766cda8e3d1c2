"""CPU-seconds of the process tree: this process, its children that have ended, and those that still
run, so that a training process counts while it trains."""

import os
import resource
from contextlib import suppress
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def process_cpu_seconds() -> float:
    """User and system time of the tree so far. Running children are seen on Linux only."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    ended = sum(one.ru_utime + one.ru_stime for one in used)
    return ended + sum(_subtree(child) for child in _children(os.getpid()))


def _subtree(process: int) -> float:
    """Of a running process, with its ended and running children; 0 if it has just gone."""
    below = sum(_subtree(child) for child in _children(process))
    with suppress(OSError, ValueError, IndexError):
        # proc(5): behind the name in parentheses, utime, stime, cutime and cstime are 12th to 15th
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return below + sum(map(int, fields[11:15])) / _TICK
    return below


def _children(process: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError, ValueError):
        for task in Path(f"/proc/{process}/task").iterdir():
            with suppress(OSError):
                found += map(int, (task / "children").read_text().split())
    return found
