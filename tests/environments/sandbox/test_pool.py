"""The pool: whole after everything, nothing left behind, and honest about what it holds."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import evener
from evener.environments.sandbox import Level, Limits, Protection, Sandbox, SandboxError, require

if TYPE_CHECKING:
    from tests.environments.sandbox.conftest import Table

LONG = 60.0
PARENT = """
import asyncio, sys
from evener.environments.sandbox import Sandbox
async def main():
    sandbox = await Sandbox.open(sys.argv[1], warm=2)
    tool = sandbox.tool()
    await tool.run("import os; open('mine', 'w').write('x')", 60)
    await sandbox.whole()
    print("started", flush=True)
    await tool.run("while True: pass", 1000)
asyncio.run(main())
"""

ONE_CALL = """
import asyncio, sys
from evener.environments.sandbox import Sandbox
async def main():
    async with await Sandbox.open(sys.argv[1], warm=1) as sandbox:
        tool = sandbox.tool()
        print((await tool.run("print(6 * 7)", 60)).stdout, end="")
        await tool.close()
asyncio.run(main())
"""


def folders() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("evener-sandbox-*"))


async def episodes(sandbox: Sandbox, count: int) -> None:
    """`count` episodes in turn, of which every tenth is ended for what it does."""
    spoil = ["import os; os._exit(1)", "import os; os.write(3, b'x')", "import os; os.fork()"]
    for number in range(count):
        tool = sandbox.tool()
        await tool.start()
        execution = await tool.run(f"open('mine', 'w').write('x')\nprint({number})", LONG)
        assert execution.stdout == f"{number}\n"
        if number % 10 == 0:
            await tool.run(spoil[number // 10 % len(spoil)], LONG)
        await tool.close()


async def nothing_left(level: Level, small: Limits, table: "Table", count: int) -> None:
    before, there = table.below(os.getpid()), folders()
    sandbox = await Sandbox.open(level, limits=small, warm=3)
    async with sandbox:
        await episodes(sandbox, count)
        await sandbox.whole()
        assert sandbox.ready == 3
        made = table.below(os.getpid()) - before
        # three interpreters, the process that forks them, and bubblewrap's own two
        assert 4 <= len(made) <= 6
        assert sum(1 for place in folders() - there for _ in place.iterdir()) <= 3
    assert await table.empty(made)
    assert not folders() - there


async def test_no_process_is_left_behind(level: Level, small: Limits, table: "Table") -> None:
    await nothing_left(level, small, table, 40)


@pytest.mark.slow
async def test_no_process_is_left_behind_after_a_thousand_episodes(
    level: Level, small: Limits, table: "Table"
) -> None:
    await nothing_left(level, small, table, 1000)


async def test_sixty_four_episodes_at_once_keep_apart(level: Level, small: Limits) -> None:
    async with await Sandbox.open(level, limits=small, warm=4) as sandbox:

        async def episode(number: int) -> str:
            tool = sandbox.tool()
            await tool.start()
            await tool.run(f"own = {number}", LONG)
            if number % 8 == 0:
                assert (await tool.run("while True: pass", 0.2)).error_kind == "timeout"
                await tool.run(f"own = {number}", LONG)
            seen = await tool.run("print(own)", LONG)
            await tool.close()
            return seen.stdout

        seen = await asyncio.gather(*(episode(number) for number in range(64)))
        assert seen == [f"{number}\n" for number in range(64)]
        await sandbox.whole()
        assert sandbox.ready == 4


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
async def test_interpreters_end_with_their_parent(
    level: Level, table: "Table", number: signal.Signals
) -> None:
    there = folders()
    with subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", PARENT, level], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as parent:
        assert parent.stdout is not None
        assert await asyncio.to_thread(parent.stdout.readline) == b"started\n"
        made = table.below(parent.pid)
        parent.send_signal(number)
        await asyncio.to_thread(parent.wait)
    assert len(made) >= 4
    assert await table.empty(made)
    for _ in range(100):
        if not folders() - there:
            break
        await asyncio.sleep(0.1)
    assert not folders() - there


async def test_the_pool_mends_when_the_process_that_forks_is_killed(
    level: Level, small: Limits, table: "Table"
) -> None:
    before = table.below(os.getpid())
    async with await Sandbox.open(level, limits=small, warm=2) as sandbox:
        tool = sandbox.tool()
        await tool.run("name = 1", LONG)
        made = table.below(os.getpid()) - before
        for pid in made & {one for one, up in table.parents().items() if up == os.getpid()}:
            os.kill(pid, signal.SIGKILL)
        assert await table.empty(made)
        assert (await tool.run("name", LONG)).error_kind == "killed"
        assert (await tool.run("print(1)", LONG)).stdout == "1\n"
        await sandbox.whole()
        assert sandbox.ready == 2


async def test_a_call_that_is_cancelled_ends_its_interpreter(
    level: Level, small: Limits, table: "Table"
) -> None:
    before = table.below(os.getpid())
    async with await Sandbox.open(level, limits=small, warm=1) as sandbox:
        tool = sandbox.tool()
        await tool.run("name = 1", LONG)
        await sandbox.whole()
        made = table.below(os.getpid()) - before
        call = asyncio.create_task(tool.run("import time; time.sleep(1000)", 2000))
        await asyncio.sleep(0.3)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await sandbox.whole()
        assert len(made & set(table.parents())) == len(made) - 1
        assert "NameError" in (await tool.run("name", LONG)).stderr
        await tool.close()


async def test_a_folder_that_resists_is_removed(level: Level, small: Limits) -> None:
    there = folders()
    code = (
        "import os\nfor _ in range(1100):\n    os.mkdir('d'); os.chdir('d')\n"
        "os.mkdir('closed', 0); os.umask(0o777); open('shut', 'w').close()"
    )
    async with await Sandbox.open(level, limits=small, warm=1) as sandbox:
        tool = sandbox.tool()
        assert (await tool.run(code, LONG)).error_kind is None
        await tool.close()
        await sandbox.whole()
    assert not folders() - there


async def test_without_the_filter_what_was_forked_is_ended_too(
    small: Limits, table: "Table"
) -> None:
    code = (
        "import os, time\nfor _ in range(20):\n"
        "    if os.fork() == 0: os.setsid(); time.sleep(1000)\nprint('forked')"
    )
    bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    before = table.below(os.getpid())
    async with await Sandbox.open("process", limits=small, warm=1, skip=["seccomp"]) as sandbox:
        assert not sandbox.protection.seccomp
        if not sandbox.protection.user:
            pytest.skip("no user can be taken here, and nothing then binds the bomb")
        await sandbox.whole()
        whole = len(table.below(os.getpid()) - before)
        tool = sandbox.tool()
        assert (await tool.run(code, LONG)).stdout == "forked\n"
        assert len(table.below(os.getpid()) - before) >= whole + 20
        await tool.close()
        await sandbox.whole()
        other = sandbox.tool()
        assert (await other.run(bomb, 1.0)).error_kind in {"timeout", "schema", "killed"}
        await other.close()
        await sandbox.whole()
        for _ in range(100):
            if len(table.below(os.getpid()) - before) == whole:
                break
            await asyncio.sleep(0.1)
        assert len(table.below(os.getpid()) - before) == whole


async def test_what_is_said_to_hold_is_what_was_taken(level: Level, small: Limits) -> None:
    async with await Sandbox.open(level, limits=small, warm=1) as sandbox:
        held = sandbox.protection
        assert (held.level, sandbox.level, held.limits) == (level, level, small)
        assert held.namespaces == (level == "bwrap")
        tool = sandbox.tool()
        code = (
            "import ctypes\nprint([ctypes.CDLL(None).prctl(one, 0, 0, 0, 0) for one in (39, 21)])"
        )
        # no_new_privs, and the mode of seccomp
        assert (await tool.run(code, LONG)).stdout == f"[1, {2 if held.seccomp else 0}]\n"
        user = await tool.run("import os; print(os.getuid() != 0)", LONG)
        if os.getuid() == 0:
            assert user.stdout == f"{held.user}\n"
        assert Protection.model_validate_json(held.model_dump_json()) == held
        assert level in held.sentence()
        assert "secure" not in held.sentence()
    async with await Sandbox.open(level, warm=1, skip=["landlock", "seccomp"]) as weaker:
        assert (weaker.protection.landlock, weaker.protection.seccomp) == (0, False)
        assert "without" in weaker.protection.sentence()
        assert weaker.protection.digest() != held.digest()


async def test_a_set_prints_in_the_same_order_in_every_run(level: Level, small: Limits) -> None:
    seen: set[str] = set()
    for _ in range(2):
        async with await Sandbox.open(level, limits=small, warm=1) as sandbox:
            seen.add((await sandbox.tool().run("{str(n) for n in range(50)}", LONG)).stdout)
    assert len(seen) == 1


async def test_the_best_level_is_taken(level: Level) -> None:
    async with await Sandbox.open(required=level, warm=1) as sandbox:
        require(sandbox.level, level)


async def test_a_level_below_the_required_one_is_refused(level: Level) -> None:
    require(level, None)
    require("bwrap", level)
    require("process", "process")
    with pytest.raises(SandboxError, match="bwrap is required"):
        require("process", "bwrap")
    with pytest.raises(SandboxError, match="bwrap is required"):
        await Sandbox.open("process", required="bwrap")


async def test_closing_twice_is_closing(level: Level) -> None:
    sandbox = await Sandbox.open(level, warm=1)
    tool = sandbox.tool()
    await tool.start()
    await tool.close()
    await tool.close()
    await sandbox.close()
    await sandbox.close()
    with pytest.raises(ValueError, match="closed"):
        await tool.run("1", 1)


def test_an_interpreter_that_lies_where_the_sandbox_has_a_folder_of_its_own_runs(
    level: Level, tmp_path: Path
) -> None:
    """A virtual environment below /tmp, say."""
    home = tmp_path / "venv"
    venv.create(home, symlinks=True, with_pip=False)
    # an editable installation is found by a hook that only its own environment has
    beside = str(Path(evener.__file__).parents[1])
    done = subprocess.run(
        [home / "bin" / "python", "-P", "-c", ONE_CALL, level],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [beside, *sys.path]))},
        capture_output=True,
        text=True,
        timeout=LONG * 2,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr
