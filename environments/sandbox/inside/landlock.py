"""Landlock: which files a process may reach, by an allow-list that it can never widen again.

Source: https://docs.kernel.org/userspace-api/landlock.html. Rights that the running kernel does
not know are left out, so that an older kernel restricts less and never fails.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from evener.environments.sandbox.inside.libc import syscall

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PATH_BENEATH = 1
WRITE_FILE, READ_FILE, READ_DIR = 1 << 1, 1 << 2, 1 << 3
TRUNCATE = 1 << 14
READ = READ_FILE | READ_DIR
# the rights that each version of the interface added
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_ON_FILES = 1 | WRITE_FILE | READ_FILE | TRUNCATE | 1 << 15


def version() -> int:
    """The kernel's version of the interface, 0 where it has none."""
    try:
        return syscall(CREATE_RULESET, None, 0, 1)
    except OSError:
        return 0


def everything() -> int:
    """All rights on files that this kernel knows."""
    return (1 << _RIGHTS[min(version(), max(_RIGHTS))]) - 1


def ruleset() -> int:
    """A descriptor of an empty allow-list: no file, no TCP, no abstract socket and no signal out
    of the domain. Raises OSError where the kernel has no Landlock."""
    known = version()
    if known < 1:
        raise OSError("this kernel has no Landlock")
    attributes = struct.pack("=Q", everything())
    if known >= 4:
        attributes += struct.pack("=Q", 0b11)
    if known >= 6:
        attributes += struct.pack("=Q", 0b11)
    return syscall(CREATE_RULESET, attributes, len(attributes), 0)


def allow(rules: int, paths: Iterable[str], rights: int) -> None:
    """Admit `rights` at and under each of `paths` that is there."""
    for path in paths:
        try:
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            held = rights & everything()
            if not stat.S_ISDIR(os.fstat(opened).st_mode):
                held &= _ON_FILES
            rule = ctypes.create_string_buffer(struct.pack("=Qi", held, opened), 12)
            syscall(ADD_RULE, rules, PATH_BENEATH, rule, 0)
        finally:
            os.close(opened)


def restrict(rules: int) -> None:
    """Hold this thread, and all that it starts, to the allow-list. Needs no_new_privs."""
    syscall(RESTRICT_SELF, rules, 0)
