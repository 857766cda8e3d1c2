"""A program of the user's: its end in one line, its words in a log, and nobody left behind."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evener.distill.outside.command import run
from evener.distill.outside.elsewhere import check_command, filled, read_result
from evener.distill.outside.secret import Secrets
from evener.protocols.error import ConfigError, ModelError

# a program with a child that lets itself not be asked, and tells its number
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[1] + ".part", "w").write(f"{os.getpid()} {child.pid}")
os.rename(sys.argv[1] + ".part", sys.argv[1])
print("under way", flush=True)
time.sleep(600)
"""


def python(script: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", script, *arguments]


async def ran(
    command: list[str], log: Path, *, limit: float = 120, hide: Secrets | None = None
) -> None:
    secrets = hide or Secrets({})
    await run(command, log, limit_s=limit, hide=secrets.hide, where="external.command")


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not asked for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def pids(path: Path) -> list[int]:
    """The numbers that a program wrote, once it has."""
    deadline = time.monotonic() + 120
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return [int(number) for number in path.read_text().split()]


def gone(numbers: list[int]) -> bool:
    deadline = time.monotonic() + 60
    while any(map(alive, numbers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not any(map(alive, numbers))


async def test_what_it_says_on_either_stream_is_in_the_log_behind_the_command(
    tmp_path: Path,
) -> None:
    script = "import sys; print('ein Wort'); print('loss 1\\rloss 2', file=sys.stderr)"
    await ran(python(script), tmp_path / "log")
    lines = (tmp_path / "log").read_text("utf-8").splitlines()
    assert lines[0].startswith(f"$ {sys.executable} -c ")
    assert sorted(lines[-3:]) == ["ein Wort", "loss 1", "loss 2"]


async def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    script = "import sys; print(sys.argv[1])"
    await ran(python(script, "$HOME; echo `id`"), tmp_path / "log")
    assert (tmp_path / "log").read_text("utf-8").splitlines()[-1] == "$HOME; echo `id`"


async def test_a_program_that_fails_is_one_line_with_its_last_word_and_the_log(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    with pytest.raises(ModelError) as failed:
        await ran(python("import sys; print('CUDA out of memory'); sys.exit(3)"), log)
    line = str(failed.value)
    assert line.startswith("external.command: the command ended with 3: CUDA out of memory")
    assert str(log) in line
    with pytest.raises(ModelError, match="killed by signal 9"):
        await ran(python("import os; os.kill(os.getpid(), 9)"), log)
    with pytest.raises(ModelError, match="it said nothing"):
        await ran(python("import sys; sys.exit(1)"), tmp_path / "other")


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no program 'no-such-trainer'"):
        await ran(["no-such-trainer"], tmp_path / "log")


async def test_one_that_takes_too_long_is_ended_with_all_its_children(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"longer than 8 s.*time_limit_s"):
        await ran(python(STUBBORN, str(tmp_path / "pids")), tmp_path / "log", limit=8)
    assert gone(pids(tmp_path / "pids"))


async def test_cancelling_ends_it_with_all_its_children(tmp_path: Path) -> None:
    task = asyncio.create_task(ran(python(STUBBORN, str(tmp_path / "pids")), tmp_path / "log"))
    numbers = await asyncio.to_thread(pids, tmp_path / "pids")
    assert all(map(alive, numbers))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gone(numbers)


def test_killing_the_one_who_started_it_leaves_nobody_behind(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys; from pathlib import Path;"
        "from evener.distill.outside.command import run;"
        "asyncio.run(run(sys.argv[2:], Path(sys.argv[1]), limit_s=600, hide=str, where='x'))"
    )
    command = python(script, str(tmp_path / "log"), *python(STUBBORN, str(tmp_path / "pids")))
    with subprocess.Popen(command) as process:
        numbers = pids(tmp_path / "pids")
        os.kill(process.pid, signal.SIGKILL)
    assert gone(numbers)


async def test_a_child_that_outlives_the_program_is_ended_and_not_waited_for(
    tmp_path: Path,
) -> None:
    script = (
        "import subprocess, sys; child = subprocess.Popen(['sleep', '600']);"
        "open(sys.argv[1], 'w').write(str(child.pid))"
    )
    await asyncio.wait_for(ran(python(script, str(tmp_path / "pids")), tmp_path / "log"), 120)
    assert gone(pids(tmp_path / "pids"))


async def test_it_gets_the_whole_environment_and_the_log_none_of_its_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINER_API_KEY", "hunter22hunter22")
    monkeypatch.setenv("LAB_PASS", "geheim77geheim77")
    script = (
        "import os; print('the key is', os.environ['TRAINER_API_KEY'] + '!');"
        "print('and', os.environ['LAB_PASS'])"
    )
    await ran(python(script), tmp_path / "log", hide=Secrets(more=["LAB_PASS"]))
    text = (tmp_path / "log").read_text("utf-8")
    assert text.splitlines()[-2:] == ["the key is …!", "and …"]


def test_a_command_with_a_key_in_it_is_refused_before_it_is_written_down() -> None:
    secrets = Secrets({"WANDB_API_KEY": "0123456789abcdef", "HOME": "/srv/somewhere"})
    check_command(["train", "{rows}", "--home", "/srv/somewhere"], secrets)
    for part in (
        "--key=0123456789abcdef",
        "sk-proj-abcdefgh12345678",
        "http://me:s3cretpw@host/x",
    ):
        with pytest.raises(ConfigError, match=r"looks like a key.*environment"):
            check_command(["train", "{rows}", part], secrets)


def test_a_command_that_is_not_told_where_the_rows_are_is_refused() -> None:
    with pytest.raises(ConfigError, match="no command to train with"):
        check_command([], Secrets({}))
    with pytest.raises(ConfigError, match=r"has no \{rows\}"):
        check_command(["train", "{row}"], Secrets({}))


def test_places_are_filled_within_an_argument_and_other_braces_stay() -> None:
    command = ("t", "--data={rows}", "{out}/x", "{base}", "{seed}", '{"lr": {"x": 1}}', "{print}")
    made = filled(command, rows=Path("/r r"), out=Path("/o"), base="b", seed=7)
    assert made == ("t", "--data=/r r", "/o/x", "b", "7", '{"lr": {"x": 1}}', "{print}")


def test_an_answer_that_is_no_file_or_too_long_is_not_read(tmp_path: Path) -> None:
    secrets, answer = Secrets({}), tmp_path / "result.json"
    os.mkfifo(answer)
    with pytest.raises(ModelError, match="it is no file"):
        read_result(tmp_path, hosted=False, secrets=secrets, log=tmp_path / "log")
    answer.unlink()
    with answer.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ModelError, match="it is too long"):
        read_result(tmp_path, hosted=False, secrets=secrets, log=tmp_path / "log")
