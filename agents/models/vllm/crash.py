"""Why a server died, from its exit status and the end of its log: a name, and a line for a person.

The log is read for known words only, from its end: what comes last is nearest to the cause.
"""

import re
import signal
from pathlib import Path
from typing import Literal, TypeAlias

from evener.agents.models.remote.outcome import plain
from evener.protocols.digest import JsonObject, Wire

CrashKind: TypeAlias = Literal[
    "oom", "kv_cache", "not_installed", "arguments", "port", "slow", "hung", "killed", "unknown"
]
_LINES = 8
_TAIL = 64 << 10
_WORDS: tuple[tuple[CrashKind, str], ...] = (
    ("kv_cache", r"No available memory for the cache blocks|KV cache is needed|KV cache memory"),
    (
        "oom",
        r"out of memory|OutOfMemoryError|MemoryError|[Cc]annot allocate memory|can't allocate"
        r"|bad_alloc|Not enough memory|[Ff]ree memory on device|Available memory on node",
    ),
    ("not_installed", r"No module named"),
    ("arguments", r"unrecognized arguments|: error: "),
    ("killed", r"died unexpectedly"),
    ("port", r"[Aa]ddress already in use"),
)
REMEDIES: dict[CrashKind, str] = {
    "oom": "give it less to hold: student.vllm.cache_gib, student.vllm.max_model_len, a smaller "
    "model, or fewer other programs",
    "kv_cache": "raise student.vllm.cache_gib, or lower student.vllm.max_model_len",
    "not_installed": "let student.vllm.python or EVENER_VLLM_PYTHON name a python that has vLLM",
    "arguments": "correct student.vllm.arguments",
    "slow": "raise student.vllm.start_s",
    "killed": "see whether the machine has run out of memory, and run the same command again",
}
_ELSEWHERE = re.compile(r"See (?:stack trace|root cause)")
_PREFIX = re.compile(r"^\([\w-]+ pid=\d+\)\s*")
_STAMP = re.compile(r"^(?:INFO|WARNING|ERROR|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\]\s*")
_NOISE = re.compile(
    r"^\s*(?:File \"|\^+$|~|warnings\.warn|raise |return |await |nanobind|- |See https?:)"
    r"|\[shutdown\]|resource_tracker|\" \d{3} [A-Z]|^INFO: |^Traceback "
)


class Crash(Wire):
    """The end of a server. `code` is its exit status where it has one, negative for a signal;
    `last` are the last lines of its log that say something."""

    kind: CrashKind
    detail: str
    code: int | None = None
    last: tuple[str, ...] = ()

    @property
    def remedy(self) -> str:
        """What a person can do about it."""
        return REMEDIES.get(self.kind, "")

    def body(self) -> JsonObject:
        """For the run's log."""
        return self.document()


def read_crash(code: int | None, log: Path, *, since: int = 0) -> Crash:
    """What the exit status and the log from byte `since` on say."""
    lines = tail(log, since=since)
    for line in reversed(lines):
        for kind, words in _WORDS:
            if re.search(words, line):
                return Crash(kind=kind, detail=line, code=code, last=lines[-_LINES:])
    if code is not None and code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        hint = " (by somebody, or for want of memory)" if code == -signal.SIGKILL else ""
        detail = f"it was ended by {name}{hint}"
        return Crash(kind="killed", detail=detail, code=code, last=lines[-_LINES:])
    errors = [line for line in lines if "Error" in line and not _ELSEWHERE.search(line)]
    said = errors[-1] if errors else ""
    detail = said or (lines[-1] if lines else "it said nothing")
    ended = "" if code is None else f"it ended with {code}: "
    return Crash(kind="unknown", detail=ended + detail, code=code, last=lines[-_LINES:])


def tail(log: Path, *, since: int = 0) -> tuple[str, ...]:
    """The lines at the end of a log that say something, without stamps and the frames of
    tracebacks."""
    try:
        with log.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(since, size - _TAIL))
            text = stream.read().decode("utf-8", "replace")
    except OSError:
        return ()
    return tuple(line for raw in text.splitlines() if (line := _said(raw)))


def _said(raw: str) -> str:
    line = _STAMP.sub("", _PREFIX.sub("", raw))
    return "" if _NOISE.search(line) else plain(line)
