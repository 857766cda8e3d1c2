"""Where a reply's answer stands: its last box that is not empty, found by matching braces.

Reasoning is not looked at, and an earlier box never stands in for one that was begun and cut off:
what a student had not finished writing is not guessed.
"""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

Missing: TypeAlias = Literal["no_answer", "truncated_answer"]

_OPEN = re.compile(r"\\(?:boxed|fbox)(?![a-zA-Z])\s*")
_BARE = re.compile(r"[^\s\\${}]+")
_THOUGHT = "</think>"
_THINKING = "<think>"


@dataclass(frozen=True)
class Found:
    """The answer as it was written, or why there is none. `cut` is a box that was begun and not
    finished, to the reply's end."""

    answer: str | None
    missing: Missing | None = None
    cut: str = ""


def boxed(reply: str) -> Found:
    """The content of the last non-empty `\\boxed` behind all reasoning.

    `truncated_answer` where a box is still open at the end and no box was completed inside it or
    behind it; `no_answer` where there is no box, or none that holds anything.
    """
    said = reply.rpartition(_THOUGHT)[2]
    said = said.partition(_THINKING)[0]
    for opening in reversed(list(_OPEN.finditer(said))):
        start = opening.end()
        if said[start : start + 1] == "{":
            end = closing(said, start)
            if end is None:
                return Found(None, "truncated_answer", said[opening.start() :])
            content = said[start + 1 : end].strip()
        else:
            bare = _BARE.match(said, start)
            content = bare.group().rstrip(".,;") if bare else ""
        if content:
            return Found(content)
    return Found(None, "no_answer")


def closing(text: str, start: int) -> int | None:
    """The index of the brace that closes the one at `start`; None where it stays open. A brace
    behind a backslash is a sign, not a group."""
    depth, at = 0, start
    while at < len(text):
        sign = text[at]
        if sign == "\\":
            at += 2
            continue
        depth += (sign == "{") - (sign == "}")
        if depth == 0:
            return at
        at += 1
    return None
