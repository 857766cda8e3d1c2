"""How far a program that a model wrote can be kept from the rest of this machine.

Levels, weakest first: a process with limits; Landlock, which fences files off; a namespace of its
own; bwrap, which puts these together. Each is found by asking the kernel or by trying it.
"""

import ctypes
import errno
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from evener.finding import Finding

_LANDLOCK_CREATE_RULESET = 444  # the same number on every architecture
_VERSION_FLAG = 1
_TRIED_SECONDS = 5.0


def isolation() -> tuple[Finding, ...]:
    """What each level is good for here. None of it is needed for the embedded loop."""
    return (_process(), _landlock(), _namespaces(), _bwrap())


def _process() -> Finding:
    if find_spec("resource") is None:
        return _lacking("process", "no limits of memory and time on this system")
    return _found("process", "a process of its own with limits of memory and time")


def landlock_abi() -> int | None:
    """Version of the kernel's Landlock interface; None where it has none or it is off."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    found = libc.syscall(
        ctypes.c_long(_LANDLOCK_CREATE_RULESET),
        ctypes.c_void_p(None),
        ctypes.c_size_t(0),
        ctypes.c_uint(_VERSION_FLAG),
    )
    return int(found) if found > 0 else None


def _landlock() -> Finding:
    abi = landlock_abi()
    if abi is None:
        off = ctypes.get_errno() == errno.EOPNOTSUPP
        why = "switched off in this kernel" if off else "not in this kernel, or not allowed here"
        return _lacking("landlock", why, "Linux 5.13 or later, with lsm=landlock")
    return _found("landlock", f"ABI {abi}")


def _namespaces() -> Finding:
    """Whether an unprivileged user namespace can be made, by making one."""
    program = shutil.which("unshare")
    if program is None:
        return _lacking("user namespaces", "not tried: there is no unshare", "install util-linux")
    fault = _tried([program, "--user", "--map-root-user", "true"])
    if fault:
        return _lacking("user namespaces", fault, _why_not())
    return _found("user namespaces", "can be made")


def _why_not() -> str:
    """The switch that most likely forbids them."""
    switches = {
        "user/max_user_namespaces": ("0", "set user.max_user_namespaces above 0"),
        "kernel/unprivileged_userns_clone": ("0", "set kernel.unprivileged_userns_clone to 1"),
        "kernel/apparmor_restrict_unprivileged_userns": (
            "1",
            "set kernel.apparmor_restrict_unprivileged_userns to 0",
        ),
    }
    for name, (forbids, remedy) in switches.items():
        try:
            if Path("/proc/sys", name).read_text("utf-8").strip() == forbids:
                return remedy
        except OSError:
            continue
    return "allow them where this container is started"


def _bwrap() -> Finding:
    program = shutil.which("bwrap")
    if program is None:
        return _lacking("bwrap", "not installed", "install the package bubblewrap")
    fault = _tried([program, "--ro-bind", "/", "/", "--unshare-all", "true"])
    if fault:
        return _lacking("bwrap", f"there, but it fails: {fault}", "it needs user namespaces")
    return _found("bwrap", program)


def _tried(command: list[str]) -> str:
    """What a short command failed with; empty where it worked."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TRIED_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no answer in {_TRIED_SECONDS:g} s"
    except OSError as error:
        return error.strerror or "cannot be run"
    if done.returncode == 0:
        return ""
    said = next(iter((done.stderr or done.stdout).splitlines()), f"it ended with {done.returncode}")
    return said[:120]


def _found(name: str, detail: str) -> Finding:
    return Finding(group="isolation", name=name, state="ok", detail=detail)


def _lacking(name: str, detail: str, remedy: str = "") -> Finding:
    return Finding(group="isolation", name=name, state="absent", detail=detail, remedy=remedy)
