"""How fast the Python tool is beside what is done without it, measured in turns in one run.

A call of a warm interpreter against a fresh `python -c` for the same code, and the start of an
episode, up to its first answer, from the warm pool against an interpreter that is started for it,
packages imported. What else the machine does meanwhile slows both. One turn is one observation;
the ratio is one of means, its interval a bootstrap over turns.
"""

import platform
import sys
import time
from asyncio import create_subprocess_exec
from asyncio.subprocess import DEVNULL
from collections.abc import Sequence
from statistics import median

from evener.environments.sandbox import LEVELS, Level, Protection, Sandbox, SandboxError
from evener.environments.sandbox.tool import Interpreter
from evener.protocols.digest import Wire
from evener.protocols.error import InfraError
from evener.protocols.interval import bootstrap

CODE = "print(6 * 7)"
_LIMIT = 60.0  # seconds for one call


class SpeedLine(Wire):
    """Seconds with the pool and without it, the medians over `n` turns, and how many times longer
    it takes without, with the 95 % interval. `calls` a turn are timed together with the pool."""

    level: Level
    what: str
    without: str
    seconds: float
    seconds_without: float
    ratio: float
    low: float
    high: float
    n: int
    calls: int


class SandboxSpeed(Wire):
    """What was measured, and on what. `not_here` are the levels that this machine lacks."""

    lines: tuple[SpeedLine, ...]
    protections: tuple[Protection, ...]
    not_here: tuple[str, ...]
    machine: str
    seed: int


async def measure(
    levels: Sequence[Level] = LEVELS, *, turns: int, starts: int, calls: int, seed: int
) -> SandboxSpeed:
    """Each of the levels that works here: `turns` of `calls` warm calls and one fresh process,
    and `starts` of episodes either way. `seed` is the bootstrap's. Raises SandboxError where none
    of the levels works."""
    lines: list[SpeedLine] = []
    protections: list[Protection] = []
    missing: list[str] = []
    for level in levels:
        try:
            sandbox = await Sandbox.open(level, warm=2)
        except SandboxError as error:
            missing.append(str(error))
            continue
        async with sandbox:
            protections.append(sandbox.protection)
            pairs = await _calls(sandbox, turns, calls)
            lines.append(_line(level, "call", "python -c", pairs, calls=calls, seed=seed))
            pairs = await _starts(sandbox, starts)
            lines.append(_line(level, "episode start", "cold", pairs, calls=1, seed=seed))
    if not lines:
        raise SandboxError(missing[0] if missing else "no level was asked for")
    system = f"{platform.machine()}, Linux {platform.release()}"
    return SandboxSpeed(
        lines=tuple(lines),
        protections=tuple(protections),
        not_here=tuple(missing),
        machine=f"{system}, Python {sys.version.split()[0]}",
        seed=seed,
    )


def render(found: SandboxSpeed) -> str:
    """The figures, and what was in force."""
    return "\n".join(
        [
            *(_sentence(line) for line in found.lines),
            *(one.sentence() for one in found.protections),
            *(f"not measured: {one}" for one in found.not_here),
            f"{found.machine}; bootstrap over turns, seed {found.seed}",
        ]
    )


def _sentence(line: SpeedLine) -> str:
    per_second = f" ({1 / line.seconds:,.0f} a second)" if line.what == "call" else ""
    return (
        f"{line.level:8} {line.what}: {line.seconds * 1000:.3f} ms{per_second}, {line.without} "
        f"{line.seconds_without * 1000:.1f} ms: {line.ratio:,.0f} times faster "
        f"(95 % {line.low:,.0f} to {line.high:,.0f}, n {line.n})"
    )


async def _calls(sandbox: Sandbox, turns: int, calls: int) -> list[tuple[float, float]]:
    tool = sandbox.tool()
    await tool.start()
    await _answered(tool)
    pairs: list[tuple[float, float]] = []
    for _ in range(turns):
        began = time.perf_counter()
        for _ in range(calls):
            await _answered(tool)
        warm = (time.perf_counter() - began) / calls
        began = time.perf_counter()
        process = await create_subprocess_exec(
            sys.executable, "-c", CODE, stdin=DEVNULL, stdout=DEVNULL
        )
        await process.wait()
        pairs.append((warm, time.perf_counter() - began))
    await tool.close()
    return pairs


async def _starts(sandbox: Sandbox, starts: int) -> list[tuple[float, float]]:
    pairs: list[tuple[float, float]] = []
    for _ in range(starts):
        await sandbox.whole()
        began = time.perf_counter()
        tool = sandbox.tool()
        await tool.start()
        await _answered(tool)
        warm = time.perf_counter() - began
        await tool.close()
        await sandbox.whole()
        began = time.perf_counter()
        async with await Sandbox.open(sandbox.level, warm=1) as cold:
            tool = cold.tool()
            await tool.start()
            await _answered(tool)
            pairs.append((warm, time.perf_counter() - began))
    return pairs


async def _answered(tool: Interpreter) -> None:
    execution = await tool.run(CODE, _LIMIT)
    if execution.stdout != "42\n":
        raise InfraError(f"the sandbox answered {execution.error_kind}: {execution.stderr}")


def _line(
    level: Level,
    what: str,
    without: str,
    pairs: Sequence[tuple[float, float]],
    *,
    calls: int,
    seed: int,
) -> SpeedLine:
    found = bootstrap(pairs, _ratio, seed=seed)
    return SpeedLine(
        level=level,
        what=what,
        without=without,
        seconds=median(warm for warm, _ in pairs),
        seconds_without=median(other for _, other in pairs),
        ratio=found.value,
        low=found.low,
        high=found.high,
        n=len(pairs),
        calls=calls,
    )


def _ratio(pairs: Sequence[tuple[float, float]]) -> float:
    return sum(other for _, other in pairs) / sum(warm for warm, _ in pairs)
