"""`Interpreter`: the Python tool of one episode."""

from typing import TYPE_CHECKING

from evener.environments.sandbox.port import Execution
from evener.environments.sandbox.worker import Worker

if TYPE_CHECKING:
    from evener.environments.sandbox.pool import Sandbox


class Interpreter:
    """A `PythonTool` on a pool. Calls of one interpreter come one after the other."""

    def __init__(self, sandbox: "Sandbox") -> None:
        self._sandbox = sandbox
        self._worker: Worker | None = None
        self._busy = False
        self._closed = False

    async def start(self) -> None:
        """Take an interpreter from the pool."""
        if self._worker is None and not self._closed:
            self._worker = await self._sandbox.take()

    async def run(self, code: str, timeout: float) -> Execution:  # noqa: ASYNC109
        """Run `code` for `timeout` seconds at most. Raises ValueError for a timeout that is no
        positive number, and for a second call while one runs."""
        if not 0 < timeout < float("inf"):
            raise ValueError(f"a timeout is a positive number of seconds, not {timeout}")
        if self._closed or self._busy:
            raise ValueError("the interpreter is closed" if self._closed else "it runs already")
        request = _request(code, self._sandbox.limits.code)
        if isinstance(request, Execution):
            return request
        self._busy = True
        try:
            async with self._sandbox.running:
                if self._worker is None:
                    self._worker = await self._sandbox.take()
                worker = self._worker
                try:
                    return await worker.run(request, timeout)
                finally:
                    if not worker.alive:
                        self._worker = None
        finally:
            self._busy = False

    async def close(self) -> None:
        """End the interpreter; what it knew is gone."""
        self._closed = True
        if self._worker is not None:
            self._worker.end()
            self._worker = None


def _request(code: object, limit: int) -> bytes | Execution:
    """The code as bytes, or why it is none that can be run. A caller's arguments come from a
    model, so that their type is checked here too."""
    if not isinstance(code, str):
        return _refused(f"code is text, not {type(code).__name__}")
    try:
        request = code.encode()
    except UnicodeEncodeError as error:
        return _refused(f"the code has a character that is none: {error.reason}")
    if len(request) > limit:
        return _refused(f"the code has {len(request)} bytes, and {limit} are the most")
    return request


def _refused(why: str) -> Execution:
    return Execution(stdout="", stderr=f"{why}\n", error_kind="schema", elapsed=0.0)
