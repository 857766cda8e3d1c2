"""Which files the code may read: the standard library, shared libraries, the named packages.

A folder of installed packages is never readable as a whole: what else is installed there, evener's
tasks and their answers among it, is none of the code's business.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
SINGLE = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/etc/ld.so.cache",
          "/etc/localtime", "/usr/share/zoneinfo")  # fmt: skip
_INSTALLED = {"site-packages", "dist-packages"}


def package_folders(names: Sequence[str]) -> dict[str, str]:
    """The folder, or the one file, of each of the top-level packages that is installed, and the
    folder of shared libraries beside it. Nothing is imported."""
    found: dict[str, str] = {}
    for name in names:
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            continue
        origin = Path(spec.origin)
        place = origin.parent if spec.submodule_search_locations else origin
        found[name] = str(place)
        libraries = place.parent / f"{name}.libs"
        if libraries.is_dir():
            found[libraries.name] = str(libraries)
    return found


class Packages:
    """Finds the named packages and no other, in place of the folders that they are installed in.

    Without it a package that may not be read would be found and then refused, which code that
    asks whether an optional library is there does not expect.
    """

    def __init__(self, folders: Mapping[str, str]) -> None:
        self._folders = dict(folders)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Of a top-level package; its modules are found by its own path."""
        del target
        place = self._folders.get(name) if path is None else None
        if place is None:
            return None
        if not Path(place).is_dir():
            return spec_from_file_location(name, place)
        return spec_from_file_location(
            name, f"{place}/__init__.py", submodule_search_locations=[place]
        )


def standard_library() -> str:
    """The folder of the standard library."""
    return str(Path(os.__file__).parent)


def readable(packages: Sequence[str]) -> Iterator[str]:
    """Every path that may be read, each with all below it."""
    yield from SINGLE
    folders = [Path(one).resolve() for one in (*LIBRARIES, f"{sys.base_prefix}/lib")]
    for folder in dict.fromkeys(folders):
        yield from (str(one) for one in _inside(folder) if not one.name.startswith("python"))
    library = Path(standard_library())
    yield from (str(one) for one in _inside(library) if one.name not in _INSTALLED)
    yield from packages


def interpreter_open() -> bool:
    """Whether any user of this machine can reach and read the standard library."""
    place = Path(os.__file__).resolve()
    return bool(place.stat().st_mode & 0o004) and all(
        folder.stat().st_mode & 0o001 for folder in place.parents
    )


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
