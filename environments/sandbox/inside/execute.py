"""The worker's loop: read code, run it in the one namespace of the episode, say how it ended.

What the code prints leaves by descriptors 1 and 2, which the parent reads itself. Over the channel
goes a frame of fixed length: the request's own random number and one byte, the error kind. Code
that writes to the channel can therefore at most lie about how itself has ended, or break the
frame, upon which the parent ends the worker.
"""

import ast
import builtins
import errno
import io
import linecache
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType, TracebackType

HEADER = 20  # a random number of 16 bytes, the length of the code in 4
NONE, SYNTAX, EXCEPTION, MEMORY, DENIED = range(5)
_FRAMES = 25  # of a traceback, the innermost
_REFUSALS = frozenset({errno.EPERM, errno.EACCES, errno.EROFS})


def serve(channel: int, spare: tuple[int, int]) -> None:
    """Answer requests until the channel closes. `spare` are copies of descriptors 1 and 2."""
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    space = vars(module)
    space["__builtins__"] = builtins
    read, write, leave = os.read, os.write, os._exit
    streams = _Streams(spare)
    number = 0
    reserve: bytearray | None = None
    while True:
        request = _request(read, channel)
        if request is None:
            leave(0)
        header, code = request[:16], request[HEADER:]
        if reserve is None:
            reserve = bytearray(1 << 20)
        number += 1
        done = [header + bytes([kind]) for kind in range(5)]
        kind = _run(code, space, f"<python {number}>")
        if kind == MEMORY:
            reserve = None  # room to say so in
            write(2, b"MemoryError: more than this interpreter may have\n")
        streams.restore()
        write(channel, done[kind])


def _request(read: Callable[[int, int], bytes], channel: int) -> bytes | None:
    """A whole request, or None at the end of the channel. The parent sends one at a time."""
    data = read(channel, 1 << 16)
    while data and (
        len(data) < HEADER or len(data) < HEADER + int.from_bytes(data[16:HEADER], "big")
    ):
        part = read(channel, 1 << 16)
        if not part:
            return None
        data += part
    return data or None


def _run(code: bytes, space: dict[str, object], name: str) -> int:
    """Run as an interactive interpreter does: the value of a last expression is shown."""
    try:
        try:
            text = code.decode()
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
            tree = ast.parse(text, name)
            shown = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            parts = [compile(tree, name, "exec")]
            if isinstance(shown, ast.Expr):
                parts.append(compile(ast.Interactive([shown]), name, "single"))
        except (SyntaxError, ValueError, RecursionError, OverflowError) as error:
            traceback.print_exception(type(error), error, None, file=sys.stderr)
            return SYNTAX
        for part in parts:
            exec(part, space)  # the purpose of this process, and of nothing else in this program
    except MemoryError:
        return MEMORY
    except SystemExit as error:
        if error.code in (None, 0):
            return NONE
        _show(error)
        return EXCEPTION
    except BaseException as error:  # noqa: BLE001  the boundary that the code ends at
        _show(error)
        refused = isinstance(error, OSError) and error.errno in _REFUSALS
        return DENIED if refused else EXCEPTION
    return NONE


def _show(error: BaseException) -> None:
    """The traceback without this file's own frames; code that overrides what is needed to print
    it gets the name of its error."""
    try:
        own: TracebackType | None = error.__traceback__
        while own is not None and own.tb_frame.f_code.co_filename == __file__:
            own = own.tb_next
        traceback.print_exception(type(error), error, own, limit=-_FRAMES, file=sys.stderr)
    except BaseException:  # noqa: BLE001  the boundary that the code ends at
        os.write(2, type(error).__name__.encode() + b"\n")


def _open(stream: io.TextIOWrapper) -> bool:
    try:
        return not stream.closed
    except ValueError:  # its buffer was detached
        return False


class _Streams:
    """Descriptors 0, 1 and 2 and Python's objects for them, as they were before the code ran."""

    def __init__(self, spare: tuple[int, int]) -> None:
        self._spare = spare
        self._null = os.open("/dev/null", os.O_RDONLY)
        self._made = (self._stream(1), self._stream(2))
        self._show = sys.displayhook
        sys.stdin = open(0, closefd=False, encoding="utf-8")  # noqa: SIM115  for the whole life
        sys.stdout, sys.stderr = self._made

    def restore(self) -> None:
        """Flush what was printed and put everything back."""
        for stream in self._made:
            # one that the code has closed, or that leads nowhere now
            with suppress(OSError, ValueError):
                stream.flush()
        signal.alarm(0)
        os.dup2(self._null, 0)
        for target, spare in zip((1, 2), self._spare, strict=True):
            os.dup2(spare, target)
        # a wrapper that the code put in their place closes them when it goes
        sys.stdout, sys.stderr = self._made
        if not all(map(_open, self._made)):
            self._made = sys.stdout, sys.stderr = (self._stream(1), self._stream(2))
        sys.displayhook = self._show

    @staticmethod
    def _stream(descriptor: int) -> io.TextIOWrapper:
        # by lines, so that what was printed before a kill is not lost
        return open(
            descriptor, "w", buffering=1, closefd=False, encoding="utf-8", errors="backslashreplace"
        )
