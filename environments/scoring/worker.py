"""The process in which algebra is done: a line of JSON in, a line of JSON out, until end of file.

It bounds its own memory and, for every question, its own CPU time; the deadline is its parent's,
who kills it. Results leave on a descriptor of their own: whatever a library prints is lost.
"""

import json
import os
import resource
import sys
from typing import TextIO

from evener.environments.scoring.symbolic import Undecided, equal, libraries

MEMORY = 2 << 30
# Of CPU time a question, should the parent be gone and nobody watch the clock.
ORPHAN_S = 30

KNOWN: tuple[tuple[str, str, bool], ...] = (
    ("3", "3", True),
    ("\\frac{1}{2}", "0.5", True),
    ("\\frac{1}{3}", "0.333333", False),
    ("\\sqrt{8}", "2\\sqrt{2}", True),
    ("\\sqrt{2}", "1.414214", False),
    ("\\frac{1}{576}", "2^{-6} \\cdot 3^{-2}", True),
    ("1-\\frac{2}{\\pi}", "\\frac{\\pi-2}{\\pi}", True),
    ("2^{25} \\cdot 26!", "2^{26} \\cdot 26!", False),
    ("x^2-1", "(x-1)(x+1)", True),
    ("\\frac{448}{3}", "149", False),
)
"""Pairs whose ruling is known: asked of every worker before its first question."""


def main() -> None:
    """Answer questions until the parent closes the pipe."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    _bound(resource.RLIMIT_AS, MEMORY)
    _bound(resource.RLIMIT_CORE, 0)
    sys.setrecursionlimit(4000)
    _tell(out, _ready())
    for line in sys.stdin:
        used = resource.getrusage(resource.RUSAGE_SELF)
        spent = int(used.ru_utime + used.ru_stime)
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (spent + ORPHAN_S, hard))
        _tell(out, _answer([(gold, answer) for gold, answer in json.loads(line)]))


def _ready() -> dict[str, object]:
    try:
        libraries()
    except ImportError as error:
        return {"missing": error.name or str(error)}
    return {"wrong": [[g, a] for g, a, known in KNOWN if _ruling(g, a) is not known]}


def _ruling(gold: str, answer: str) -> bool | None:
    try:
        return equal(gold, answer)
    except Undecided:
        return None


def _answer(pairs: list[tuple[str, str]]) -> dict[str, object]:
    try:
        return {"equal": [equal(gold, answer) for gold, answer in pairs]}
    except Undecided as error:
        return {"error": error.kind}
    except MemoryError:
        return {"error": "memory"}
    except RecursionError:
        return {"error": "too_deep"}
    except OverflowError:
        return {"error": "too_large"}
    except Exception as error:  # noqa: BLE001 - a library's failure; told to the parent
        return {"error": f"exception: {type(error).__name__}"}


def _bound(what: int, limit: int) -> None:
    hard = resource.getrlimit(what)[1]
    least = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(what, (least, least))


def _tell(out: TextIO, message: dict[str, object]) -> None:
    out.write(json.dumps(message) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
