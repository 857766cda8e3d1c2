"""A forked process gives up, for good, what the code that it will run has no need of.

What the kernel does not offer is left out and not said to hold: `confine` reports the measures
that were really taken. The order matters: mounts need privileges, rights are dropped before the
filters are set, and the death signal is forgotten when the user changes.
"""

import os
import resource
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from evener.environments.sandbox.inside import landlock, libc, seccomp
from evener.environments.sandbox.inside.readable import (
    LIBRARIES,
    SINGLE,
    interpreter_open,
    readable,
    standard_library,
)

_DAC_READ_SEARCH = 1 << 2


@dataclass(frozen=True)
class Order:
    """What a worker is to be held to; sizes in bytes, `processor` in seconds.

    `user` is the one to become, −1 to stay; `alone` says that no other process has it.
    `namespaces`: the folder becomes a file system in memory, and /proc is hidden. `skip`: measures
    that are left out, to test that the others hold without them.
    """

    folder: str
    user: int
    alone: bool
    namespaces: bool
    memory: int
    processor: int
    file: int
    disk: int
    threads: int
    skip: Sequence[str] = ()


@dataclass
class Taken:
    """The measures taken; `landlock` is the version of the kernel's interface, 0 for none."""

    user: bool = False
    landlock: int = 0
    seccomp: bool = False
    namespaces: bool = False


def confine(order: Order, rules: int | None, *, packages: Sequence[str], parent: int) -> Taken:
    """Confine this process, which was forked by `parent`. `rules` is the allow-list that all
    workers share; the process adds its own, and what both admit can be reached."""
    taken = Taken()
    os.umask(0o077)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    if order.namespaces:
        _mounts(order)
        taken.namespaces = True
    elif order.user >= 0:
        os.chown(order.folder, order.user, order.user)
    own = None if rules is None else _own_rules(order, packages)
    os.chdir(order.folder)
    _limits(order)
    taken.user = _drop(order, confined=own is not None)
    libc.prctl(libc.PR_SET_NO_NEW_PRIVS, 1)
    if rules is not None and own is not None:
        for one in (rules, own):
            landlock.restrict(one)
            os.close(one)
        taken.landlock = landlock.version()
    libc.prctl(libc.PR_SET_PDEATHSIG, signal.SIGKILL)
    if not order.namespaces and os.getppid() != parent:
        os._exit(1)
    if "seccomp" not in order.skip:
        with suppress(OSError, KeyError):
            seccomp.install()
            taken.seccomp = True
    return taken


def shared_rules(packages: Sequence[str], folder: str) -> int | None:
    """The allow-list of all workers: reading what `readable` names, anything in `folder`, which
    holds their private ones. None where the kernel has no Landlock."""
    try:
        rules = landlock.ruleset()
    except OSError:
        return None
    landlock.allow(rules, readable(packages), landlock.READ)
    # a folder that modules are looked for in has to be listed, with what is installed below it
    landlock.allow(rules, [standard_library()], landlock.READ_DIR)
    landlock.allow(rules, ["/dev/null"], landlock.READ | landlock.WRITE_FILE)
    landlock.allow(rules, [folder], landlock.everything())
    return rules


def _own_rules(order: Order, packages: Sequence[str]) -> int:
    """Reading in the large, but for the folders of other workers; writing in the own folder."""
    rules = landlock.ruleset()
    wide = [*SINGLE, *LIBRARIES, *packages, standard_library(), f"{sys.base_prefix}/lib"]
    landlock.allow(rules, wide, landlock.READ)
    landlock.allow(rules, ["/dev/null"], landlock.READ | landlock.WRITE_FILE)
    landlock.allow(rules, [order.folder], landlock.everything())
    return rules


def _mounts(order: Order) -> None:
    """An empty private folder in memory, and no view of any process at all."""
    libc.unshare(libc.CLONE_NEWNS | libc.CLONE_NEWIPC)
    flags = libc.MS_NOSUID | libc.MS_NODEV
    owner = f",uid={order.user},gid={order.user}" if order.user >= 0 else ""
    size = f"size={order.disk},nr_inodes=4096,mode=0700{owner}"
    libc.mount("tmpfs", order.folder, "tmpfs", flags, size)
    libc.mount("tmpfs", "/proc", "tmpfs", flags | libc.MS_RDONLY, "size=4096,mode=0555")


def _limits(order: Order) -> None:
    limits = {
        resource.RLIMIT_AS: order.memory,
        resource.RLIMIT_CPU: order.processor,
        resource.RLIMIT_FSIZE: order.file,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 64,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    if order.alone:
        limits[resource.RLIMIT_NPROC] = order.threads
    for name, value in limits.items():
        _, hard = resource.getrlimit(name)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(name, (value, value))


def _drop(order: Order, *, confined: bool) -> bool:
    """Become the user and give up all privileges. Where the interpreter lies in a folder that is
    closed to others, one privilege is kept, to read in spite of that, and only where Landlock
    says what may be read; without it the user stays."""
    kept = 0
    user = order.user
    if user >= 0 and not interpreter_open():
        if confined:
            kept = _DAC_READ_SEARCH
        else:
            user = -1
    if user >= 0:
        libc.prctl(libc.PR_SET_KEEPCAPS, 1)
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    libc.set_capabilities(kept)
    return user >= 0
