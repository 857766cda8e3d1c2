"""The machine as `evener doctor` sees it: processor, memory, disks, GPU. Nothing is loaded for it.

What a container is allowed counts, not what the host has.
"""

import os
import shutil
import subprocess
from pathlib import Path

from evener.finding import Finding

_DISK_BYTES = 2e9  # a run on the embedded student, its weights among it
_MEMORY_BYTES = 1e9  # its weights in float32, and what it computes with them
_CPU_BF16 = ("avx512_bf16", "amx_bf16", "bf16")
_GPU_BF16 = 8.0  # compute capability from which a GPU computes in bfloat16
_GPU_SECONDS = 5.0
_GPU_QUERY = "name,memory.total,compute_cap,driver_version"


def machine(cache: Path, *, torch: str | None) -> tuple[Finding, ...]:
    """Processor, memory, disks and GPUs; `cache` is the folder of prepared models, `torch` the
    version that is installed."""
    return (
        _processor(),
        _memory(),
        _disk("disk of the cache", cache),
        _disk("disk here", Path.cwd()),
        *_gpus(torch),
    )


def _processor() -> Finding:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    flags = set(_read("/proc/cpuinfo").split())
    fast = [name for name in _CPU_BF16 if name in flags]
    said = f"fast ({', '.join(fast)})" if fast else "slow, so float32 is used"
    quota = _quota()
    share = f", of which this container may use {quota:g}" if quota else ""
    return _found("processor", f"{cores} cores{share}; bfloat16 {said}")


def _quota() -> float | None:
    """Cores that the control group allows; None for no limit."""
    limit, _, period = _read("/sys/fs/cgroup/cpu.max").partition(" ")
    try:
        return float(limit) / float(period)
    except (ValueError, ZeroDivisionError):
        return None


def _memory() -> Finding:
    told = dict(line.split(":", 1) for line in _read("/proc/meminfo").splitlines() if ":" in line)
    try:
        total, free = (int(told[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
    except (KeyError, ValueError, IndexError):
        return Finding(group="machine", name="memory", state="absent", detail="cannot be told here")
    limit = _read("/sys/fs/cgroup/memory.max").strip()
    if limit.isdigit() and int(limit) < total:
        used = _read("/sys/fs/cgroup/memory.current").strip()
        total = int(limit)
        free = min(free, total - int(used)) if used.isdigit() else min(free, total)
    detail = f"{free / 1e9:.1f} of {total / 1e9:.1f} GB free"
    if free < _MEMORY_BYTES:
        return _lacking("memory", detail, "a run on the embedded student needs about 1 GB")
    return _found("memory", detail)


def _disk(name: str, folder: Path) -> Finding:
    place = folder
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    detail = f"{free / 1e9:.0f} GB free, {folder}"
    if not os.access(place, os.W_OK):
        remedy = "set EVENER_CACHE, or give --out, to a folder that can be written"
        return _lacking(name, f"cannot be written, {folder}", remedy)
    if free < _DISK_BYTES:
        return _lacking(name, detail, "a run on the embedded student needs about 2 GB")
    return _found(name, detail)


def _gpus(torch: str | None) -> tuple[Finding, ...]:
    """One line for each GPU that nvidia-smi tells of; it is not waited for without end."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return (_no_gpu("none found; the CPU is used"),)
    try:
        told = subprocess.run(
            [program, f"--query-gpu={_GPU_QUERY}", "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_GPU_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return (_no_gpu(f"nvidia-smi said nothing in {_GPU_SECONDS:g} s", "look at the driver"),)
    except OSError as error:
        return (_no_gpu(f"nvidia-smi cannot be run: {error.strerror}"),)
    lines = [line for line in told.stdout.splitlines() if line.strip()]
    if told.returncode != 0 or not lines:
        said = next(iter((told.stderr or told.stdout).splitlines()), "nothing")
        return (_no_gpu(f"nvidia-smi: {said[:120]}", "look at the driver"),)
    return tuple(_gpu(number, line, torch) for number, line in enumerate(lines))


def _gpu(number: int, line: str, torch: str | None) -> Finding:
    """A line of nvidia-smi: name, MiB of memory, compute capability, driver."""
    name, memory, capability, driver = (part.strip() for part in [*line.split(","), "", "", ""][:4])
    try:
        bf16 = "yes" if float(capability) >= _GPU_BF16 else "no"
    except ValueError:
        bf16 = "unknown"
    size = f"{int(memory) * 1.048576e-3:.0f} GB" if memory.isdigit() else "memory unknown"
    detail = f"{name}, {size}, bfloat16 {bf16}, driver {driver or 'unknown'}"
    blind = torch is not None and "+cpu" in torch
    return Finding(
        group="machine",
        name=f"gpu {number}",
        state="ok",
        detail=detail,
        remedy=f"torch {torch} leaves it idle: install one for CUDA" if blind else "",
    )


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError:
        return ""


def _found(name: str, detail: str) -> Finding:
    return Finding(group="machine", name=name, state="ok", detail=detail)


def _lacking(name: str, detail: str, remedy: str) -> Finding:
    return Finding(group="machine", name=name, state="missing", detail=detail, remedy=remedy)


def _no_gpu(detail: str, remedy: str = "") -> Finding:
    return Finding(group="machine", name="gpu", state="absent", detail=detail, remedy=remedy)
