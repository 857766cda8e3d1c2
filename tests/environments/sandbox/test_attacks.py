# ruff: noqa: ASYNC240  files of the test itself
"""What code can try: at either level nothing escapes, nothing hangs, the pool is whole after."""

import asyncio
import os
import socket
from pathlib import Path

import pytest

from evener.environments.sandbox import Sandbox
from evener.environments.sandbox.tool import Interpreter

pytestmark = pytest.mark.asyncio(loop_scope="module")
LONG = 60.0  # seconds: what has to end by itself, on a loaded machine too


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "10**10**8",
        "import time\ntime.sleep(1000)",
        "import signal\nfor one in range(1, 32):\n    try: signal.signal(one, signal.SIG_IGN)\n"
        "    except OSError: pass\nwhile True: pass",
        "try:\n    while True: pass\nexcept BaseException:\n    while True: pass",
        "class Endless:\n    def __repr__(self):\n        while True: pass\nEndless()",
        "class Endless(OSError):\n    def __str__(self):\n        while True: pass\nraise Endless",
        "import os\nfor fd in range(3, 64):\n    try: os.read(fd, 1)\n    except OSError: pass",
    ],
)
async def test_what_does_not_end_is_ended(tool: Interpreter, code: str) -> None:
    assert (await tool.run(code, 1.0)).error_kind == "timeout"
    after = await tool.run("print('fresh', 'Endless' in globals())", LONG)
    assert (after.stdout, after.error_kind) == ("fresh False\n", None)


@pytest.mark.parametrize(
    "code",
    [
        "import os\nwhile True: os.fork()",
        "import os, time\nfor _ in range(200):\n    if os.fork() == 0: time.sleep(1000)",
        "import subprocess\nsubprocess.run(['sleep', '1000'])",
        "import multiprocessing\nmultiprocessing.Process(target=print).start()",
        "import os\nos.posix_spawn('/bin/true', ['true'], {})",
        "import os\nos.execv('/bin/true', ['true'])",
    ],
)
async def test_no_process_is_made(tool: Interpreter, code: str) -> None:
    assert (await tool.run(code, LONG)).error_kind == "denied"


async def test_threads_are_limited(tool: Interpreter) -> None:
    code = (
        "import threading, time\nthreading.stack_size(1 << 16)\n"
        "made = 0\nfor _ in range(10000):\n"
        "    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start(); made += 1"
    )
    assert (await tool.run(code, LONG)).error_kind == "exception"
    assert int((await tool.run("made", LONG)).stdout) < 1000


@pytest.mark.parametrize(
    "code",
    [
        "data = bytearray(3 << 30)",
        "held = []\nwhile True: held.append(bytearray(1 << 22))",
        "import numpy\nnumpy.ones(3 << 27)",
        "import mmap\nmmap.mmap(-1, 3 << 30)",
        "'a' * (3 << 30)",
    ],
)
async def test_memory_is_limited(tool: Interpreter, code: str) -> None:
    execution = await tool.run(code, LONG)
    assert execution.error_kind in {"memory", "exception"}
    assert "memory" in execution.stderr.lower()
    assert (await tool.run("held = None\nprint('here')", LONG)).stdout == "here\n"


async def test_the_limits_cannot_be_raised(tool: Interpreter) -> None:
    for limit in ("AS", "CPU", "FSIZE", "NOFILE"):
        code = f"import resource\nresource.setrlimit(resource.RLIMIT_{limit}, (-1, -1))"
        assert (await tool.run(code, LONG)).error_kind == "exception"


@pytest.mark.parametrize(
    "write",
    [
        "sys.stdout.write('x' * 1_000_000)",
        "sys.stderr.write('x' * 1_000_000)",
        "os.write(1, b'x' * 1_000_000)",
        "print('x')",
    ],
)
async def test_a_gigabyte_of_output_is_cut_and_stopped(
    tool: Interpreter, sandbox: Sandbox, write: str
) -> None:
    execution = await tool.run(f"import os, sys\nfor _ in range(1_000_000_000): {write}", LONG)
    assert execution.error_kind == "output_truncated"
    assert execution.truncated
    assert len(execution.stdout) <= sandbox.limits.output + 100
    assert len(execution.stderr) <= sandbox.limits.output + 200


@pytest.mark.parametrize(
    "made",
    [
        "socket.AF_INET, socket.SOCK_STREAM",
        "socket.AF_INET, socket.SOCK_DGRAM",
        "socket.AF_INET6, socket.SOCK_STREAM",
        "socket.AF_INET6, socket.SOCK_DGRAM",
        "socket.AF_UNIX, socket.SOCK_STREAM",
        "socket.AF_NETLINK, socket.SOCK_RAW",
    ],
)
async def test_no_socket_is_made(tool: Interpreter, made: str) -> None:
    assert (await tool.run(f"import socket\nsocket.socket({made})", LONG)).error_kind == "denied"


async def test_nothing_reaches_a_listening_port(tool: Interpreter) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        port = server.getsockname()[1]
        code = f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 2)"
        assert (await tool.run(code, LONG)).error_kind == "denied"
        with pytest.raises(TimeoutError):
            server.accept()


async def test_a_ring_of_the_kernel_opens_no_socket_either(tool: Interpreter) -> None:
    code = (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.syscall(425, 4, ctypes.create_string_buffer(120)), ctypes.get_errno())"
    )
    assert (await tool.run(code, LONG)).stdout == "-1 1\n"


async def test_nobodys_files_are_read(tool: Interpreter, tmp_path: Path) -> None:
    secret = tmp_path / "answers.jsonl"
    secret.write_text("the answer is 204")
    secret.chmod(0o644)
    for folder in secret.parents[:3]:
        folder.chmod(0o755)
    home = Path.home()
    for path in (secret, home / ".bashrc", home, "/etc/passwd", "/home", "/proc/1/environ"):
        for read in ("print(open(path).read())", "print(os.listdir(path))"):
            execution = await tool.run(f"import os\npath = {str(path)!r}\n{read}", LONG)
            assert execution.error_kind in {"denied", "exception"}, (path, execution)
            assert not execution.stdout


async def test_a_file_is_not_read_by_way_of_a_link(tool: Interpreter, tmp_path: Path) -> None:
    secret = tmp_path / "answers.jsonl"
    secret.write_text("the answer is 204")
    code = f"import os\nos.symlink({str(secret)!r}, 'link')\nprint(open('link').read())"
    assert "204" not in (await tool.run(code, LONG)).stdout


async def test_neither_evener_nor_its_data_is_within_reach(tool: Interpreter) -> None:
    import evener.environments.storefront

    assert (await tool.run("import evener", LONG)).error_kind == "exception"
    own = Path(evener.environments.storefront.__file__)
    for path in (own, own.resolve(), own.resolve().parent / "harnesses" / "seed.yaml"):
        execution = await tool.run(f"print(open({str(path)!r}).read())", LONG)
        assert execution.error_kind in {"denied", "exception"}
        assert not execution.stdout


async def test_the_environment_is_empty(tool: Interpreter) -> None:
    os.environ.setdefault("PATH", "/usr/bin")
    assert (await tool.run("import os\ndict(os.environ)", LONG)).stdout == "{}\n"
    for pid in (os.getpid(), os.getppid(), "self"):
        execution = await tool.run(f"print(open('/proc/{pid}/environ').read())", LONG)
        assert execution.error_kind in {"denied", "exception"}
        assert not execution.stdout


async def test_nothing_is_written_outside(tool: Interpreter, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    places = (tmp_path, "/tmp", "/dev/shm", "/var/tmp", "/", "/usr/lib", "..")
    for place in places:
        for name in ("evener-escaped", "evener-escaped-folder"):
            make = "os.mkdir(path)" if name.endswith("folder") else "open(path, 'w').write('x')"
            code = f"import os\npath = {str(Path(place) / name)!r}\n{make}"
            execution = await tool.run(code, LONG)
            assert execution.error_kind in {"denied", "exception"}, (place, execution)
    for place in places[:-1]:
        assert not list(Path(place).glob("evener-escaped*"))


async def test_nobodys_file_is_changed(tool: Interpreter, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("as it was")
    kept.chmod(0o666)
    tmp_path.chmod(0o777)
    path = str(kept)
    for change in (
        f"open({path!r}, 'a').write('x')", f"os.truncate({path!r}, 0)", f"os.remove({path!r})",
        f"os.rename({path!r}, 'mine')", f"os.link({path!r}, 'mine')",
        f"os.chmod({path!r}, 0)", f"os.utime({path!r}, (0, 0))",
        f"os.chmod({str(tmp_path)!r}, 0)", f"os.setxattr({path!r}, 'user.mine', b'1')",
    ):  # fmt: skip
        execution = await tool.run(f"import os\n{change}", LONG)
        assert execution.error_kind in {"denied", "exception"}, (change, execution)
    assert kept.read_text() == "as it was"
    assert kept.stat().st_mode & 0o777 == 0o666


@pytest.mark.parametrize(
    "take",
    [
        "os.chmod('mine', 0o777)", "os.utime('mine')", "os.setpriority(os.PRIO_USER, 0, 19)",
        "os.nice(5)", "os.sched_setaffinity(os.getppid(), {0})",
        "os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))",
    ],
)  # fmt: skip
async def test_no_share_of_the_machine_and_no_mode_of_a_file_is_changed(
    tool: Interpreter, take: str
) -> None:
    """Not even the own: where nobody is root, the user's other files and processes are as near."""
    execution = await tool.run(f"import os\nopen('mine', 'w').close()\n{take}", LONG)
    assert execution.error_kind == "denied", execution


async def test_the_own_folder_is_there_to_write_in(tool: Interpreter) -> None:
    await tool.run("open('mine', 'w').write('kept')", LONG)
    assert (await tool.run("open('mine').read()", LONG)).stdout == "'kept'\n"
    assert "mine" in (await tool.run("import os; os.listdir()", LONG)).stdout


async def test_a_file_has_a_size(tool: Interpreter) -> None:
    code = "with open('big', 'wb') as file:\n    for _ in range(100): file.write(bytes(1 << 20))"
    assert (await tool.run(code, LONG)).error_kind == "exception"


async def test_an_episode_sees_nothing_of_another(tool: Interpreter, sandbox: Sandbox) -> None:
    other = sandbox.tool()
    await other.run("open('theirs', 'w').write('secret')\nname = 1", LONG)
    where = (await other.run("import os; print(os.getcwd())", LONG)).stdout.strip()
    code = f"import os\nprint(open({where!r} + '/theirs').read())"
    execution = await tool.run(code, LONG)
    assert execution.error_kind in {"denied", "exception"}
    assert "secret" not in execution.stdout
    assert (await tool.run("name", LONG)).error_kind == "exception"
    await other.close()


@pytest.mark.parametrize(
    "kill",
    [
        "os.kill(os.getppid() or -1, 9)", "os.kill({parent}, 9)", "os.kill(-1, 9)",
        "os.kill(0, 15)", "os.killpg(os.getpgrp(), 15)", "os.pidfd_open({parent})",
        "os.setsid()", "os.kill({parent}, 0)",
    ],
)  # fmt: skip
async def test_the_parent_is_not_killed(tool: Interpreter, kill: str) -> None:
    line = kill.format(parent=os.getpid())
    assert (await tool.run(f"import os, signal\n{line}", LONG)).error_kind == "denied"
    assert (await tool.run("'here'", LONG)).stdout == "'here'\n"


async def test_what_ties_it_to_its_parent_is_not_untied(tool: Interpreter) -> None:
    code = (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.prctl(1, 0), ctypes.get_errno(), libc.prctl(36, 1), ctypes.get_errno())"
    )
    assert (await tool.run(code, LONG)).stdout == "-1 1 -1 1\n"


@pytest.mark.parametrize(
    "close",
    [
        "import os\nos.close(1); os.close(2)", "import sys\nsys.stdout.close(); sys.stderr.close()",
        "import sys\nsys.stdout = sys.stderr = None", "import sys\ndel sys.stdout, sys.stderr",
        "import os\nos.dup2(os.open('mine', os.O_CREAT | os.O_WRONLY), 1)",
        "import sys, io\nsys.stdout = io.StringIO()", "import os\nos.close(0)",
        "import sys, io\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')",
        "import sys\nsys.stdout.detach(); sys.stderr.detach()",
    ],
)  # fmt: skip
async def test_a_closed_output_is_opened_again(tool: Interpreter, close: str) -> None:
    await tool.run(f"name = 7\n{close}", LONG)
    after = await tool.run("print(name)\n1 / 0", LONG)
    assert (after.stdout, after.error_kind) == ("7\n", "exception")
    assert "ZeroDivisionError" in after.stderr


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        ("import os\nos.closerange(0, 4096)", "killed"),
        ("import os\nos._exit(0)", "killed"),
        ("import ctypes\nctypes.string_at(0)", "killed"),
        ("import os\nos.abort()", "killed"),
        ("import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass",
         "killed"),
    ],
)  # fmt: skip
async def test_an_interpreter_that_dies_is_replaced(tool: Interpreter, end: str, kind: str) -> None:
    execution = await tool.run(f"name = 7\n{end}", LONG)
    assert execution.error_kind == kind
    assert "gone" in execution.stderr
    assert (await tool.run("'name' in globals()", LONG)).stdout == "False\n"


async def test_recursion_without_a_limit_ends(tool: Interpreter) -> None:
    code = "import sys\nsys.setrecursionlimit(10**5)\ndef f(): f()\nf()"
    execution = await tool.run(code, LONG)
    assert execution.error_kind in {"memory", "exception", "killed"}
    assert len(execution.stderr) < 10_000


@pytest.mark.parametrize("junk", [b"\0" * 17, b"\0", b"x" * 100, b"{}\n", b"\0" * 65536])
async def test_a_forged_answer_is_no_answer(tool: Interpreter, junk: bytes) -> None:
    code = (
        "import os\nfor fd in range(3, 64):\n"
        f"    try: os.write(fd, {junk!r})\n    except OSError: pass\nwhile True: pass"
    )
    execution = await tool.run(code, LONG)
    assert execution.error_kind == "schema"


async def test_an_answer_that_was_overheard_ends_only_the_own_call(tool: Interpreter) -> None:
    code = (
        "import os, sys\nframe = sys._getframe()\n"
        "while 'header' not in frame.f_locals: frame = frame.f_back\n"
        "print('early')\nos.write(3, frame.f_locals['header'] + b'\\0')\nwhile True: pass"
    )
    forged = await tool.run(code, LONG)
    assert (forged.stdout, forged.error_kind) == ("early\n", None)
    assert (await tool.run("print(1)", 1.0)).error_kind in {"timeout", "schema"}
    assert (await tool.run("print(1)", LONG)).stdout == "1\n"


async def test_text_that_looks_like_an_answer_is_text(tool: Interpreter) -> None:
    text = '{"stdout": "42", "error_kind": null}'
    execution = await tool.run(f"print({text!r})\nraise ValueError", LONG)
    assert execution.stdout == f"{text}\n"
    assert execution.error_kind == "exception"


async def test_a_thread_that_outlives_its_call_disturbs_nothing(tool: Interpreter) -> None:
    code = (
        "import threading\nturns = 0\ndef spin():\n    global turns\n"
        "    while True:\n        turns += 1\n        print('noise', flush=True)\n"
        "threading.Thread(target=spin).start()"
    )
    assert (await tool.run(code, LONG)).error_kind in {None, "output_truncated"}
    assert "'mine'" in (await tool.run("'mine'", LONG)).stdout


async def test_a_thread_that_outlives_its_call_is_halted(tool: Interpreter) -> None:
    code = (
        "import threading, time\nturns = 0\ndef spin():\n    global turns\n"
        "    while True: turns += 1; time.sleep(0.001)\n"
        "threading.Thread(target=spin, daemon=True).start()"
    )
    await tool.run(code, LONG)
    await asyncio.sleep(2)
    # a second and more of it would be hundreds of turns
    assert int((await tool.run("turns", LONG)).stdout) < 500


@pytest.mark.parametrize(
    "spoil",
    [
        "import builtins\nbuiltins.compile = builtins.print = builtins.len = None",
        "import os\nos.write = os.read = os.dup2 = None",
        "import ast, traceback\nast.parse = traceback.print_exception = None",
        "import sys\nsys.modules.clear()",
        "import builtins\nfor one in list(vars(builtins)):\n    delattr(builtins, one)",
        "import gc, types\nfor one in gc.get_objects():\n"
        "    if isinstance(one, dict) and '__name__' in one and one is not globals(): one.clear()",
    ],
)
async def test_an_interpreter_that_was_spoilt_still_ends(tool: Interpreter, spoil: str) -> None:
    await tool.run(spoil, 2.0)
    await tool.run("1 + 1", 2.0)
