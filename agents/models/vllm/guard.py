"""Runs one command in a process group of its own and leaves nothing of it behind, however it ends.

`python guard.py SECONDS COMMAND …` prints the command's process id, then its exit status (negative
for a signal). When standard input is closed, by whoever started this or by their death, the group
is asked to end and after SECONDS killed. Standard library only: it needs no package.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

_PR_SET_PDEATHSIG = 1


def main(grace: float, command: list[str]) -> int:
    """Run the command to its end; the status to exit with."""
    # whoever started this decides when it ends, not a terminal that closes
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_IGN)
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=2,  # ours has the two numbers alone
        start_new_session=True,
        preexec_fn=_die_with_parent,  # there is no other thread yet
    )
    _say(process.pid)
    threading.Thread(target=_until_closed, args=(process.pid, grace), daemon=True).start()
    # it stays a zombie until the group is gone, so that its number is nobody else's
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    _kill(process.pid, signal.SIGKILL)
    code = process.wait()
    _say(code)
    return 0


def _until_closed(group: int, grace: float) -> None:
    """Wait for the end of standard input, and end the group."""
    with suppress(OSError):
        while os.read(0, 1024):
            pass
    _kill(group, signal.SIGTERM)
    time.sleep(grace)
    _kill(group, signal.SIGKILL)


def _kill(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _die_with_parent() -> None:
    """In the child: the kernel kills it should this process be killed. Signals are as usual."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _say(number: int) -> None:
    with suppress(OSError):
        os.write(1, f"{number}\n".encode())


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
