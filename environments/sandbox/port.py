"""A Python interpreter for one episode: what goes in, what comes out, and how it can end."""

from typing import Literal, Protocol, TypeAlias

from evener.protocols.digest import Wire

ErrorKind: TypeAlias = Literal[
    "timeout", "memory", "syntax", "exception", "output_truncated", "killed", "denied", "schema"
]


class Execution(Wire):
    """How one piece of code went.

    `error_kind` None means that it ran to its end and all that it printed is here. `timeout`: it
    was not over at the deadline; `memory`: MemoryError; `syntax`: it is no Python; `exception`: it
    raised; `output_truncated`: it printed more than is kept, or so much that it was stopped;
    `killed`: the interpreter ended under it; `denied`: it was refused a file, a socket, a process
    or a signal; `schema`: what was given is no code that can be run, or what came back is no
    answer. `elapsed` is in seconds of the wall clock. `truncated`: of stdout or stderr only the
    beginning is here.
    """

    stdout: str
    stderr: str
    error_kind: ErrorKind | None = None
    elapsed: float
    truncated: bool = False


class PythonTool(Protocol):
    """The interpreter of one episode. Names live from `start` to `close`, and no longer."""

    async def start(self) -> None:
        """Take an interpreter. Raises InfraError where none can be had."""
        ...

    async def run(self, code: str, timeout: float) -> Execution:  # noqa: ASYNC109
        """Run `code`, for `timeout` seconds at most; the value of a last expression is printed, as
        at a prompt. Where the interpreter had to be ended, stderr says so, and the next call has a
        fresh one. Raises InfraError where the machinery fails, never for what the code does."""
        ...

    async def close(self) -> None:
        """End the interpreter and all that it has started. A second call does nothing."""
        ...
