"""What works here: versions, engines, model cache, processor, keys; and what to do for the rest.

A key is reported as present or not; its value is never read into the report.
"""

import os
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from evener.agents.models.remote.provider import PROVIDERS
from evener.protocols.digest import Wire
from evener.version import VERSION

NEEDED = ("pydantic", "autogen-core", "torch", "transformers", "trl", "peft", "networkx", "gguf")
EXTRAS = {"aiohttp": "llm", "litellm": "llm"}


class Finding(Wire):
    """One line of the report. `remedy` is set where something is missing."""

    name: str
    state: Literal["ok", "missing", "absent"]
    detail: str
    remedy: str = ""


def examine() -> tuple[Finding, ...]:
    """All findings. `missing` blocks a run on the embedded student, `absent` does not."""
    return (
        Finding(name="evener", state="ok", detail=VERSION),
        Finding(name="python", state="ok", detail=sys.version.split()[0]),
        *(_package(name) for name in NEEDED),
        *(_extra(name, extra) for name, extra in EXTRAS.items()),
        _student(),
        _gpu(),
        _processor(),
        _disk(),
        _key("HF_TOKEN", "only needed for gated models of the hub"),
        *(
            _key(provider.key, f"only needed for {name}/…")
            for name, provider in PROVIDERS.items()
            if provider.key
        ),
    )


def _package(name: str) -> Finding:
    try:
        return Finding(name=name, state="ok", detail=version(name))
    except PackageNotFoundError:
        return Finding(
            name=name,
            state="missing",
            detail="not installed",
            remedy=f"pip install {name}",
        )


def _extra(name: str, extra: str) -> Finding:
    found = _package(name)
    if found.state == "ok":
        return found
    remedy = f"for models behind an interface: pip install 'evener[{extra}]'"
    return found.model_copy(update={"state": "absent", "remedy": remedy})


def _student() -> Finding:
    from evener.agents.models.local.fetch import EMBEDDED
    from evener.agents.models.local.store import cache_root, prepared

    folder = prepared(cache_root(), EMBEDDED.name)
    if folder is None:
        return Finding(
            name="embedded student",
            state="absent",
            detail="not fetched yet",
            remedy="evener models fetch",
        )
    return Finding(name="embedded student", state="ok", detail=str(folder))


def _gpu() -> Finding:
    if shutil.which("nvidia-smi") is None:
        return Finding(name="gpu", state="absent", detail="none found; the CPU is used")
    return Finding(name="gpu", state="ok", detail="nvidia-smi is there")


def _processor() -> Finding:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        flags = ""
    fast = [name for name in ("avx512_bf16", "amx_bf16") if name in flags]
    return Finding(
        name="processor",
        state="ok",
        detail=f"{cores} cores, bfloat16 {'fast (' + ', '.join(fast) + ')' if fast else 'slow'}",
    )


def _disk() -> Finding:
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    return Finding(
        name="disk",
        state="ok" if free > 2 else "missing",
        detail=f"{free:.0f} GB free here",
        remedy="" if free > 2 else "a run on the embedded student needs about 2 GB",
    )


def _key(name: str, use: str) -> Finding:
    found = bool(os.environ.get(name))
    return Finding(
        name=name,
        state="ok" if found else "absent",
        detail="set" if found else "not set",
        remedy="" if found else use,
    )
