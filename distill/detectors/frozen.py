"""One digest over a set of detectors: names, parts, settings and code. It is logged before the
student is trained, so that no detector can be fitted to what the student came to do."""

import hashlib
import sys
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, cast

from evener.protocols.behaviour import Behaviour
from evener.protocols.digest import JsonObject, Wire, digest
from evener.protocols.port import Detector


def frozen(detectors: Sequence[Detector]) -> str:
    """Digest over all of them, in order: 64 hex digits."""
    return digest([digest_of(detector) for detector in detectors])


def digest_of(detector: Detector) -> str:
    """Digest of one: what it is called and stands for, the data it was made from, and the sources
    of the modules whose code it runs. Line ends do not count."""
    code: tuple[object, ...] = ()
    settings: JsonObject = {}
    if isinstance(detector, Behaviour):
        code, settings = (detector.occasion, detector.shown), detector.settings
    sources: JsonObject = {
        name: hashlib.sha256(file.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
        for name, file in sorted(_modules(type(detector), *code))
    }
    return digest(
        {
            "name": detector.name,
            "part": detector.part,
            "text": detector.text,
            "conditional": detector.conditional,
            "settings": settings,
            "sources": sources,
        }
    )


def _modules(*started: object) -> Iterator[tuple[str, Path]]:
    """The modules of these functions and classes, and the modules, functions and classes that their
    globals name, as far as they are of one package with them. Data, of which there is a digest in
    the settings, and protocols do not count."""
    left = [str(getattr(one, "__module__", "")) for one in started]
    tops = {name.partition(".")[0] for name in left}
    seen: set[str] = set()
    while left:
        name = left.pop()
        module = sys.modules.get(name)
        if name in seen or module is None or name.partition(".")[0] not in tops:
            continue
        seen.add(name)
        file = getattr(module, "__file__", None)
        if file is not None:
            yield name, Path(file)
        for value in vars(module).values():
            if isinstance(value, ModuleType):
                left.append(value.__name__)
            elif _is_code(value):
                left.append(str(value.__module__))


def _is_code(value: Any) -> bool:
    if not isinstance(value, type):
        # a cached function is none, but wraps one
        return isinstance(value, FunctionType) or hasattr(value, "__wrapped__")
    kind = cast("type[object]", value)
    return not issubclass(kind, Wire | Enum) and not getattr(kind, "_is_protocol", False)
