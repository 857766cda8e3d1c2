"""The command line of the process that forks the interpreters, plain or inside bubblewrap."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from evener.environments.sandbox.inside.readable import LIBRARIES, package_folders

INSIDE = Path(__file__).resolve().parent / "inside"
_BOUND = "/run/evener"
_FOLDER = "/tmp"  # of the sandbox's own file system
# one thread for a process that forks; an arena of memory a thread would count against the limit;
# and the same order of sets in every run
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
    "PYTHONHASHSEED": "0",
}
# bubblewrap's own /dev has terminals, for which it makes one user namespace more: the process in it
# has no rights over the others any more
_DEVICES = [
    part for name in ("null", "zero", "random", "urandom")
    for part in ("--dev-bind", f"/dev/{name}", f"/dev/{name}")
]  # fmt: skip
# evener itself is not importable in there: only the folder `inside` is, under its usual name
_BOOT = """
import sys, types
folder, descriptor, options = sys.argv[1:]
for name in ("evener", "evener.environments", "evener.environments.sandbox"):
    sys.modules[name] = module = types.ModuleType(name)
    module.__path__ = []
module.__path__.append(folder)
from evener.environments.sandbox.inside.zygote import main
main(descriptor, options)
"""


def plain(descriptor: int, options: str) -> list[str]:
    """The command for the level `process`."""
    return [*_python(), str(INSIDE.parent), str(descriptor), options]


def bubblewrapped(
    descriptor: int, options: str, *, packages: Sequence[str], user_namespace: bool
) -> list[str] | None:
    """The command for the level `bwrap`, None where bubblewrap is not installed. The file system
    has the interpreter, the named packages and nothing else that is installed beside them."""
    found = shutil.which("bwrap")
    if found is None:
        return None
    shown: list[str] = []
    prefix = Path(sys.base_prefix).resolve()
    for place in dict.fromkeys(["/usr", *LIBRARIES, "/bin", str(prefix)]):
        if Path(place).is_symlink():
            shown += ["--symlink", str(Path(place).readlink()), place]
        elif place == "/usr" or not place.startswith("/usr/"):
            shown += ["--ro-bind-try", place, place]
    for place in ("/etc/ld.so.cache", "/etc/localtime"):
        shown += ["--ro-bind-try", place, place]
    hidden = _installed(prefix)
    for place in hidden:
        shown += ["--tmpfs", place]
    own = Path(sys.executable).parent
    for one in (own, own.parent / "pyvenv.cfg"):
        if one.exists() and not one.is_relative_to("/usr"):
            shown += ["--ro-bind", str(one), str(one)]
    for place in package_folders(packages).values():
        shown += ["--ro-bind", place, place]
    shown += ["--ro-bind", str(INSIDE), f"{_BOUND}/inside"]
    for place in hidden:
        shown += ["--remount-ro", place]
    return [
        found, "--die-with-parent", "--new-session", "--unshare-ipc", "--unshare-pid",
        "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
        *(["--unshare-user"] if user_namespace else []),
        # first, for the interpreter itself may lie in a folder of that name
        "--cap-add", "ALL", "--hostname", "sandbox", "--tmpfs", _FOLDER, *shown,
        "--proc", "/proc", *_DEVICES, "--dir", f"{_FOLDER}/own",
        "--remount-ro", _FOLDER, "--remount-ro", "/", "--chdir", "/",
        "--", *_python(), _BOUND, str(descriptor), options,
    ]  # fmt: skip


def _python() -> list[str]:
    # -s and -P are all of -I but for the environment, which has nothing here but what is given
    # with it: -I would draw the seed of hashes anew, and sets would print in another order
    return [sys.executable, "-s", "-P", "-B", "-X", "utf8", "-c", _BOOT]


def _installed(prefix: Path) -> list[str]:
    """The folders of installed packages below what is shown."""
    found = {
        one
        for root in dict.fromkeys([prefix, Path("/usr"), Path("/usr/local")])
        for kind in ("site-packages", "dist-packages")
        for pattern in (f"lib*/python3*/{kind}", f"lib*/{kind}")
        for one in root.glob(pattern)
    }
    # a link leads to one of the others, and nothing can be mounted on it
    return sorted(str(one) for one in found if one.resolve() == one)
