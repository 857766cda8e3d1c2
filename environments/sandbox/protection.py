"""How well the code is shut in: two levels, what each took on this machine, and its limits.

`process` is an ordinary process that has given up what it can: it slows an attacker down and keeps
accidents in; a fault in the kernel's interface is enough to leave it. `bwrap` has file systems,
network and process table of its own besides. Neither is a virtual machine.
"""

from typing import Literal, TypeAlias

from evener.protocols.digest import Wire
from evener.protocols.error import UserError

Level: TypeAlias = Literal["process", "bwrap"]
LEVELS: tuple[Level, ...] = ("process", "bwrap")


class SandboxError(UserError):
    """A level of protection that this machine does not have, or that is below what is required."""


class Limits(Wire):
    """Of one interpreter. Bytes: `memory` beyond the packages, `file` of one file, `disk` of all
    (`bwrap` only), `output` that is kept of each stream, `flood` upon which it is ended, `code` of
    one call. `processor` is seconds over the whole episode, `threads` a number."""

    memory: int = 1 << 30
    processor: int = 600
    file: int = 16 << 20
    disk: int = 64 << 20
    threads: int = 32
    output: int = 64 << 10
    flood: int = 16 << 20
    code: int = 256 << 10


class Protection(Wire):
    """What is in force, as the interpreters reported it before any code ran in them.

    `user`: they run as a user that owns nothing; `landlock`: the version of the kernel's
    interface that says which files they reach, 0 for none; `seccomp`: no sockets, no processes,
    no signals; `namespaces`: file systems, network and processes of their own. Where `landlock` is
    0 and `namespaces` false, the code can read what its user can.
    """

    level: Level
    user: bool
    landlock: int
    seccomp: bool
    namespaces: bool
    limits: Limits
    python: str
    packages: tuple[tuple[str, str], ...]

    def sentence(self) -> str:
        """For a log: the level and what it rests on."""
        measures = {
            "a user of its own": self.user,
            f"Landlock {self.landlock}": self.landlock > 0,
            "seccomp": self.seccomp,
            "namespaces": self.namespaces,
        }
        held = [name for name, there in measures.items() if there]
        absent = [name for name, there in measures.items() if not there]
        line = f"Python sandbox: level {self.level}, with {', '.join(held) or 'limits alone'}"
        return f"{line}; without {', '.join(absent)}" if absent else line


def require(level: Level, required: Level | None) -> None:
    """Raises SandboxError where `level` is below the required one."""
    if required is not None and LEVELS.index(level) < LEVELS.index(required):
        raise SandboxError(
            f"the sandbox has level {level} here, and {required} is required",
            remedy="install bubblewrap (Debian: apt-get install bubblewrap) on a kernel that "
            "lets it make namespaces, or require less",
        )
