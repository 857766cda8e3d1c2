"""The system calls that Python has no function for, each raising OSError as Python's own do."""

import ctypes
import os
import struct

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long

PR_SET_PDEATHSIG = 1
PR_SET_KEEPCAPS = 8
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4

_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION_3 = 0x20080522


def checked(result: int, what: str) -> int:
    """`result`, or OSError with the errno of the call that gave −1."""
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, *arguments: object) -> int:
    """A system call by number; integers are passed as 64 bits."""
    passed = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return checked(int(_LIBC.syscall(ctypes.c_long(number), *passed)), f"system call {number}")


def prctl(option: int, *arguments: object) -> None:
    """prctl(2)."""
    passed = [ctypes.c_ulong(one) if isinstance(one, int) else one for one in arguments]
    passed += [ctypes.c_ulong(0)] * (4 - len(passed))
    checked(int(_LIBC.prctl(option, *passed)), f"prctl {option}")


def unshare(flags: int) -> None:
    """unshare(2)."""
    checked(int(_LIBC.unshare(flags)), "unshare")


def setns(descriptor: int, kind: int) -> None:
    """setns(2)."""
    checked(int(_LIBC.setns(descriptor, kind)), "setns")


def mount(source: str, target: str, kind: str, flags: int, data: str) -> None:
    """mount(2)."""
    result = _LIBC.mount(
        source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode()
    )
    checked(int(result), f"mount {target}")


def set_capabilities(kept: int) -> None:
    """Permitted and effective capabilities of this thread become the bits `kept`; none are
    inheritable."""
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    low, high = kept & 0xFFFFFFFF, kept >> 32
    data = struct.pack("=6I", low, low, 0, high, high, 0)
    syscall(_CAPSET[os.uname().machine], header, data)
