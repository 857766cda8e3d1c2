"""One process that has the packages imported and forks a confined worker at each request.

It is trusted and runs no code of others. It reaps its workers, ends with its parent, and leaves
neither a process nor a file behind.
"""

import fcntl
import gc
import importlib
import json
import os
import shutil
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from types import FrameType
from typing import Any

from evener.environments.sandbox.inside import execute, libc
from evener.environments.sandbox.inside.confine import Order, confine, shared_rules
from evener.environments.sandbox.inside.process import address_space, end, mapped, parents
from evener.environments.sandbox.inside.readable import Packages, package_folders, standard_library

CHANNEL, OUT, ERR = 3, 4, 5
_NOBODY = 65534


class Zygote:
    """The loop of the process: `requests` is a SEQPACKET socket to the parent."""

    def __init__(self, requests: socket.socket, options: dict[str, Any]) -> None:
        self._requests = requests
        self._namespaces: bool = options["namespaces"]
        self._folder: str = options["folder"]
        self._skip: list[str] = options["skip"]
        self._limits: dict[str, int] = options["limits"]
        self._users: int = options["users"]
        self._workers: set[int] = set()
        self._packages = package_folders(options["packages"])
        self._versions = _imported(options["imports"])
        self._rules: int | None = None
        if "landlock" not in self._skip:
            self._rules = shared_rules(list(self._packages.values()), self._folder)

    def serve(self) -> None:
        """Fork a worker at each request, until the parent closes its end."""
        libc.prctl(libc.PR_SET_CHILD_SUBREAPER, 1)
        signal.signal(signal.SIGCHLD, self._reap)
        gc.collect()
        gc.freeze()
        ready = {"python": sys.version.split()[0], "packages": self._versions}
        self._requests.send(json.dumps(ready).encode())
        while True:
            data, descriptors, _, _ = socket.recv_fds(self._requests, 1 << 16, 3)
            if not data:
                return
            request = json.loads(data)
            if request["do"] == "sweep":
                self._sweep()
            else:
                self._fork(request, descriptors)

    def _fork(self, request: dict[str, Any], descriptors: Sequence[int]) -> None:
        """A worker with the three descriptors; it says itself that it is ready."""
        user, alone = self._user(request["slot"])
        order = Order(
            folder=f"{self._folder}/{request['folder']}",
            user=user,
            alone=alone,
            namespaces=self._namespaces,
            memory=address_space() + self._limits["memory"],
            processor=self._limits["processor"],
            file=self._limits["file"],
            disk=self._limits["disk"],
            threads=self._limits["threads"],
            skip=self._skip,
        )
        parent = os.getpid()
        if self._namespaces:
            own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
            libc.setns(own, libc.CLONE_NEWPID)
            libc.unshare(libc.CLONE_NEWPID)
            os.close(own)
        # a worker that ends at once is reaped after it is known
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        pid = os.fork()
        if pid == 0:
            self._become(order, descriptors, parent)
        self._workers.add(pid)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        for one in descriptors:
            os.close(one)

    def _become(self, order: Order, descriptors: Sequence[int], parent: int) -> None:
        """The worker's life; never returns."""
        try:
            for name in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(name, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
            os.setsid()
            # out of the way first, so that no move overwrites what is still to be moved
            rules = None if self._rules is None else _high(self._rules)
            placed = [_high(one) for one in descriptors]
            null = os.open("/dev/null", os.O_RDONLY)
            for source, target in [
                (null, 0),
                (placed[1], 1),
                (placed[2], 2),
                (placed[0], CHANNEL),
                (placed[1], OUT),
                (placed[2], ERR),
            ]:
                os.dup2(source, target, inheritable=False)
            if rules is not None:
                rules = os.dup2(rules, 6, inheritable=False)
            os.closerange(7, os.sysconf("SC_OPEN_MAX"))
            os.environ.clear()
            taken = confine(order, rules, packages=list(self._packages.values()), parent=parent)
            _forget(self._packages)
            os.write(CHANNEL, json.dumps(asdict(taken)).encode())
            execute.serve(CHANNEL, (OUT, ERR))
        except BaseException as error:  # noqa: BLE001  said to the parent, which raises it
            os.write(CHANNEL, json.dumps({"failed": f"{type(error).__name__}: {error}"}).encode())
        finally:
            os._exit(1)

    def _user(self, slot: int) -> tuple[int, bool]:
        """The user of a worker, −1 for no other than now; and whether it is its alone."""
        if os.getuid() != 0 or "user" in self._skip:
            return -1, False
        for user, alone in ((self._users + slot, True), (_NOBODY, False)):
            if mapped(user):
                return user, alone
        return -1, False

    def _reap(self, _signal: int = 0, _frame: FrameType | None = None) -> None:
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._workers.discard(pid)

    def _sweep(self) -> None:
        """End what a dead worker has left: every descendant of this process that has no living
        worker above it. Needed only where no filter keeps workers from forking."""
        for _ in range(1000):
            self._reap()
            known = parents()
            lost = [pid for pid in known if self._lost(pid, known)]
            if not lost:
                return
            for pid in lost:
                end(pid)

    def _lost(self, pid: int, known: dict[int, int]) -> bool:
        while pid in known and pid not in self._workers:
            if known[pid] == os.getpid():
                return True
            pid = known[pid]
        return False

    def close(self) -> None:
        """Kill and reap every worker and all that it has left, and remove their folders."""
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for pid in self._workers:
            end(pid)
        for pid in self._workers:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
        self._workers.clear()
        if not self._namespaces:
            self._sweep()
            shutil.rmtree(self._folder, ignore_errors=True)


def _imported(names: Sequence[str]) -> dict[str, str]:
    """Import the packages that are installed; their versions."""
    found: dict[str, str] = {}
    for name in names:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        found[name] = str(getattr(module, "__version__", ""))
    return found


def _high(descriptor: int) -> int:
    """A copy of the descriptor under a high number."""
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 64)


def _forget(packages: Mapping[str, str]) -> None:
    """No module of evener, and no import but of the standard library and of the packages."""
    for name in [one for one in sys.modules if one.partition(".")[0] == "evener"]:
        del sys.modules[name]
    own = ("BuiltinImporter", "FrozenImporter", "PathFinder")
    sys.meta_path[:] = [one for one in sys.meta_path if getattr(one, "__name__", "") in own]
    sys.meta_path.append(Packages(packages))
    library = standard_library()
    sys.path[:] = [library, f"{library}/lib-dynload"]
    sys.path_importer_cache.clear()
    sys.argv[:] = [""]


def main(descriptor: str, options: str) -> None:
    """The process: `descriptor` is the socket's, `options` JSON of the parent's making."""
    libc.prctl(libc.PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=int(descriptor)) as requests:
        # the loop then reads the end; an exception could come in the middle of tidying up
        signal.signal(signal.SIGTERM, lambda _signal, _frame: requests.shutdown(socket.SHUT_RD))
        zygote = Zygote(requests, json.loads(options))
        try:
            zygote.serve()
        finally:
            zygote.close()
