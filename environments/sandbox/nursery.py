"""The parent's side of the process that forks interpreters: starts it, asks it, ends it."""

import asyncio
import json
import os
import secrets
import socket
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from evener.environments.sandbox.command import ENVIRONMENT, bubblewrapped, plain
from evener.environments.sandbox.folder import remove
from evener.environments.sandbox.protection import Level, Limits
from evener.environments.sandbox.worker import Worker
from evener.protocols.error import InfraError

_STARTS_WITHIN = 120.0  # seconds; the packages are imported meanwhile
_USERS = 0x40000000  # the first of the numbers that no account has
_SLOTS = 4096
# what is importable, and what is imported before the first fork; each where it is installed
PACKAGES = ("mpmath", "sympy", "numpy", "scipy")
IMPORTED = ("sympy", "numpy")


class Nursery:
    """A running process that forks. Made by `start`."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", requests: socket.socket, folder: Path | None
    ) -> None:
        self._process = process
        self._requests = requests
        self._folder = folder
        self._made = 0
        self.python = ""
        self.packages: dict[str, str] = {}

    @classmethod
    async def start(cls, level: Level, *, limits: Limits, skip: Sequence[str] = ()) -> "Nursery":
        """The process, with the packages imported. Raises InfraError, with what the process
        said, where it cannot be had at this level."""
        said = ""
        for user_namespace in (False, True) if level == "bwrap" and os.getuid() == 0 else (True,):
            try:
                return await cls._start(level, limits, skip, user_namespace)
            except InfraError as error:
                said = str(error)
        raise InfraError(said)

    @classmethod
    async def _start(
        cls, level: Level, limits: Limits, skip: Sequence[str], user_namespace: bool
    ) -> "Nursery":
        folder = Path(tempfile.mkdtemp(prefix="evener-sandbox-")) if level == "process" else None
        if folder is not None:
            folder.chmod(0o711)
        options = json.dumps(
            {
                "namespaces": level == "bwrap",
                "folder": "/tmp" if folder is None else str(folder.resolve()),
                "skip": list(skip),
                "limits": limits.document(),
                "users": _USERS + secrets.randbelow(1 << 18) * _SLOTS,
                "packages": PACKAGES,
                "imports": IMPORTED,
            }
        )
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        with theirs, tempfile.TemporaryFile() as said:
            line = plain(theirs.fileno(), options)
            if level == "bwrap":
                found = bubblewrapped(
                    theirs.fileno(), options, packages=PACKAGES, user_namespace=user_namespace
                )
                if found is None:
                    ours.close()
                    raise InfraError("bubblewrap (bwrap) is not installed")
                line = found
            process = subprocess.Popen(  # noqa: ASYNC220  the start alone, which does not wait
                line,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=ENVIRONMENT,
                cwd="/",
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
            made = cls(process, ours, folder)
            theirs.close()
            try:
                await made._ready(said)
            except BaseException:
                await made.close()
                raise
        return made

    async def _ready(self, said: IO[bytes]) -> None:
        loop = asyncio.get_running_loop()
        try:
            data = await asyncio.wait_for(loop.sock_recv(self._requests, 1 << 16), _STARTS_WITHIN)
        except (OSError, TimeoutError):
            data = b""
        if not data:
            said.seek(0)
            lines = said.read(1 << 16).decode("utf-8", "replace").strip().splitlines()
            raise InfraError(
                f"the sandbox did not start: {lines[-1] if lines else 'it said nothing'}"
            )
        answer = json.loads(data)
        self.python, self.packages = answer["python"], answer["packages"]

    @property
    def alive(self) -> bool:
        """Whether the process is still there."""
        return self._process.poll() is None

    async def fork(self, limits: Limits, ended: Callable[[Worker, Path | None], None]) -> Worker:
        """A started interpreter. Raises InfraError where none comes."""
        slot = self._made = (self._made + 1) % _SLOTS
        name = "own" if self._folder is None else f"{slot}-{secrets.token_hex(4)}"
        place = None if self._folder is None else self._folder / name
        if place is not None:
            try:
                place.mkdir(mode=0o700)
            except OSError as error:
                raise InfraError(f"the sandbox has no folder any more: {error}") from error
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        out, out_theirs = os.pipe()
        err, err_theirs = os.pipe()
        try:
            for one in (out, err):
                os.set_blocking(one, False)
            request = json.dumps({"do": "fork", "slot": slot, "folder": name}).encode()
            worker = Worker(
                ours,
                out,
                err,
                limits=limits,
                ended=lambda gone: ended(gone, place),
            )
            try:
                await self._ask(request, [theirs.fileno(), out_theirs, err_theirs])
            except BaseException:
                worker.end()
                raise
        finally:
            theirs.close()
            os.close(out_theirs)
            os.close(err_theirs)
        await worker.ready()
        return worker

    async def sweep(self) -> None:
        """End what dead interpreters have left behind."""
        with suppress(InfraError):
            await self._ask(json.dumps({"do": "sweep"}).encode(), [])

    async def _ask(self, request: bytes, descriptors: list[int]) -> None:
        while True:
            try:
                socket.send_fds(self._requests, [request], descriptors)
            except BlockingIOError:
                await asyncio.sleep(0.01)
            except OSError as error:
                raise InfraError(f"the sandbox is gone: {error}") from error
            else:
                return

    async def close(self) -> None:
        """End the process, which ends its interpreters first."""
        self._requests.close()
        try:
            await asyncio.to_thread(self._process.wait, 20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)
        if self._folder is not None:
            await asyncio.to_thread(remove, self._folder)
