"""One worker process from the parent's side: started, asked against a deadline, killed whole.

A process that missed a deadline, died or said that it ran out of memory is never asked again.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from typing import Any

from evener.protocols.error import ConfigError, InfraError

MODULE = "evener.environments.scoring.worker"
START_S = 120.0

# gmpy2 computes for minutes without looking up; sympy is told to do without it.
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "SYMPY_GROUND_TYPES": "python",
    "MPMATH_NOGMPY": "1",
    "LC_ALL": "C.UTF-8",
}


class Lost(Exception):
    """The worker gave no answer; `kind` is `timeout` or `killed`. It has been ended."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(kind)


class Worker:
    """A process in a session of its own. Not for two threads at a time."""

    def __init__(self) -> None:
        command = [sys.executable, "-I", "-B", "-m", MODULE]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_ENVIRONMENT,
                cwd="/",
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise InfraError(f"no process to score in: {error}", kind="scorer") from None
        self._ready = False

    @property
    def pid(self) -> int:
        """Of the process, which is also its group's."""
        return self._process.pid

    def ask(self, pairs: list[tuple[str, str]], *, deadline_s: float) -> dict[str, Any]:
        """The worker's message to a list of (gold, answer). The deadline begins when the worker is
        ready for the question.

        Raises Lost; ConfigError where math-verify is missing or rules wrongly; InfraError where
        the worker does not start.
        """
        self._wait_ready()
        try:
            self._write((json.dumps(pairs) + "\n").encode())
            return self._read(deadline_s)
        except Lost:
            self.kill()
            raise

    def kill(self) -> None:
        """End the process and its group; returns when it is gone."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _wait_ready(self) -> None:
        if self._ready:
            return
        try:
            told = self._read(START_S)
        except Lost as lost:
            self.kill()
            raise InfraError(
                f"the scoring worker did not start: {lost.kind}", kind="scorer"
            ) from None
        if "missing" in told:
            self.kill()
            raise ConfigError(
                f"{told['missing']} is not installed", remedy="pip install 'evener[math]'"
            )
        if told["wrong"]:
            self.kill()
            raise ConfigError(
                f"math-verify as it is installed rules wrongly on {told['wrong'][0]}",
                remedy="Install the version that the extra `math` names",
            )
        self._ready = True

    def _write(self, data: bytes) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        try:
            while data:
                data = data[pipe.write(data) or 0 :]
        except (BrokenPipeError, ValueError):
            raise Lost("killed") from None

    def _read(self, seconds: float) -> dict[str, Any]:
        pipe = self._process.stdout
        assert pipe is not None
        until = time.monotonic() + seconds
        data = b""
        while not data.endswith(b"\n"):
            left = until - time.monotonic()
            try:
                if left <= 0 or not select.select([pipe], [], [], left)[0]:
                    raise Lost("timeout")
                more = os.read(pipe.fileno(), 1 << 16)
            except (OSError, ValueError):
                # the pool was closed meanwhile
                raise Lost("killed") from None
            if not more:
                raise Lost("killed")
            data += more
        message: dict[str, Any] = json.loads(data)
        return message
