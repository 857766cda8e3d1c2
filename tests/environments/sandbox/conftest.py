"""One pool a module and level; small limits, so that an attack costs the machine little."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from evener.environments.sandbox import LEVELS, Level, Limits, Sandbox
from evener.environments.sandbox.tool import Interpreter

BWRAP = [
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap (bwrap) is not installed")
]
EACH_LEVEL = [pytest.param(one, marks=BWRAP if one == "bwrap" else []) for one in LEVELS]


@pytest.fixture(scope="module", params=EACH_LEVEL)
def level(request: pytest.FixtureRequest) -> Level:
    found: Level = request.param
    return found


@pytest.fixture(scope="module")
def small() -> Limits:
    return Limits(memory=256 << 20, processor=60, file=1 << 20, disk=4 << 20, flood=4 << 20)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def sandbox(level: Level, small: Limits) -> AsyncIterator[Sandbox]:
    async with await Sandbox.open(level, limits=small, warm=2) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def tool(sandbox: Sandbox) -> AsyncIterator[Interpreter]:
    """An interpreter; the pool is whole after whatever was done with it."""
    made = sandbox.tool()
    await made.start()
    yield made
    await made.close()
    await sandbox.whole()
    assert sandbox.ready >= 2
    after = sandbox.tool()
    assert (await after.run("print(6 * 7)", 60)).stdout == "42\n"
    await after.close()


class Table:
    """The process table, without zombies."""

    def parents(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    after_name = (entry / "stat").read_text().rpartition(")")[2]
                except OSError:
                    continue
                state, parent, *_ = after_name.split()
                if state not in "ZX":
                    found[int(entry.name)] = int(parent)
        return found

    def below(self, pid: int) -> set[int]:
        """All that descend from a process."""
        parents = self.parents()
        found: set[int] = set()
        edge = {pid}
        while edge:
            edge = {one for one, parent in parents.items() if parent in edge} - found
            found |= edge
        return found

    async def empty(self, pids: set[int]) -> bool:
        """Whether all of the processes end, which some time is given for."""
        for _ in range(600):
            if not pids & set(self.parents()):
                return True
            await asyncio.sleep(0.1)
        return False


@pytest.fixture
def table() -> Table:
    return Table()
