"""A seccomp filter: no sockets, no processes, no signals to others, no ways around Landlock, and no
hand on what a file is or on what share of the machine a process has.

A list of what is refused, since Python and its libraries use too much to list what is not. A
refused call fails with EPERM, so that the code reads a PermissionError. Only threads of the own
process can be made: a process that is killed leaves nothing behind.
"""

import ctypes
import os
import struct

from evener.environments.sandbox.inside.libc import PR_SET_SECCOMP, prctl

_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENT = 0, 4, 16
_CLONE_THREAD = 0x00010000
_X32 = 0x40000000
_CLONE3 = 435

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# names in the kernel's spelling: x86-64, aarch64; None where an architecture has no such call
_REFUSED: dict[str, tuple[int | None, int | None]] = {
    # sockets; io_uring opens them past this filter
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    # processes, and their escape from the group that the parent kills
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    "setsid": (112, 157), "setpgid": (109, 154),
    # other processes
    "tkill": (200, 130), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "kcmp": (312, 272), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438), "process_madvise": (440, 440),
    "move_pages": (279, 239), "migrate_pages": (256, 238),
    # namespaces and mounts
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442),
    # files past their path
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "fanotify_init": (300, 262),
    # what a file is, which Landlock does not watch; its owner is the user, where nobody is root
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    # how much of the machine a process gets, this one's or another's
    "setpriority": (141, 140), "ioprio_set": (251, 30), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274), "sched_setaffinity": (203, 122),
    # memory that no limit counts, or that outlives the process
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194),
    "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180), "userfaultfd": (323, 282),
    # the kernel itself
    "bpf": (321, 280), "perf_event_open": (298, 241), "keyctl": (250, 219), "add_key": (248, 217),
    "request_key": (249, 218), "init_module": (175, 105), "finit_module": (313, 273),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "swapon": (167, 224), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "adjtimex": (159, 171), "clock_adjtime": (305, 266), "sethostname": (170, 161),
    "setdomainname": (171, 162), "acct": (163, 89), "quotactl": (179, 60), "syslog": (103, 116),
    "personality": (135, 92), "ioperm": (173, None), "iopl": (172, None),
}  # fmt: skip
# calls whose first argument has to be the own process
_OWN = {"kill": (62, 129), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
        "rt_tgsigqueueinfo": (297, 240)}  # fmt: skip
_PRLIMIT, _CLONE = (302, 261), (56, 220)
# (call, which argument, refused values): the parent's death signal and reaping; signals by way of
# a descriptor's owner; typing into a terminal
_BY_VALUE = (
    ((157, 167), 0, (1, 36)),
    ((72, 25), 1, (8, 10, 15)),
    ((16, 29), 1, (0x5412, 0x541C, 0x8901, 0x8902)),
)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def program(machine: str, pid: int) -> bytes:
    """The filter of a process `pid` as BPF instructions of 8 bytes. Raises KeyError for a machine
    whose system calls are not known here."""
    audit, column = _AUDIT[machine], list(_AUDIT).index(machine)
    no = _step(_RETURN, _ERRNO | _EPERM)
    yes = _step(_RETURN, _ALLOW)
    number = _step(_LOAD, _NUMBER)
    steps = [_step(_LOAD, _ARCHITECTURE), _step(_EQUAL, audit, 1, 0), _step(_RETURN, _KILL), number]
    if machine == "x86_64":
        steps += [_step(_AT_LEAST, _X32, 0, 1), no]
    for numbers in _REFUSED.values():
        refused = numbers[column]
        if refused is not None:
            steps += [_step(_EQUAL, refused, 0, 1), no]
    # glibc falls back to clone, whose flags a filter can read
    steps += [_step(_EQUAL, _CLONE3, 0, 1), _step(_RETURN, _ERRNO | _ENOSYS)]
    steps += [
        _step(_EQUAL, _CLONE[column], 0, 4),
        _step(_LOAD, _ARGUMENT),
        _step(_ANY_BIT, _CLONE_THREAD, 1, 0),
        no,
        yes,
    ]
    for numbers in _OWN.values():
        steps += [
            _step(_EQUAL, numbers[column], 0, 4),
            _step(_LOAD, _ARGUMENT),
            _step(_EQUAL, pid, 1, 0),
            no,
            yes,
        ]
    steps += [
        _step(_EQUAL, _PRLIMIT[column], 0, 5),
        _step(_LOAD, _ARGUMENT),
        _step(_EQUAL, 0, 2, 0),
        _step(_EQUAL, pid, 1, 0),
        no,
        yes,
    ]
    for numbers, argument, values in _BY_VALUE:
        tests = [_step(_LOAD, _ARGUMENT + 8 * argument)]
        for value in values:
            tests += [_step(_EQUAL, value, 0, 1), no]
        steps += [_step(_EQUAL, numbers[column], 0, len(tests) + 1), *tests, yes]
    return b"".join([*steps, yes])


def install() -> None:
    """Hold this thread, and all that it starts, to the filter. Needs no_new_privs. Raises OSError
    where the kernel has no seccomp, KeyError where the machine is not known."""
    code = program(os.uname().machine, os.getpid())
    held = ctypes.create_string_buffer(code, len(code))
    attached = _Program(len(code) // 8, ctypes.addressof(held))
    prctl(PR_SET_SECCOMP, 2, ctypes.byref(attached))
