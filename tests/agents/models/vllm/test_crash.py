"""The end of a log becomes a name for what happened, and a line for a person."""

from pathlib import Path

import pytest

from evener.agents.models.vllm.crash import read_crash

# of vLLM 0.32 on a CPU, cut to what matters
NO_MEMORY = """\
(VllmWorker-0 pid=15568) ERROR 11-30 03:05:21 [executor.py:953] WorkerProc failed to start.
(VllmWorker-0 pid=15568) ERROR 11-30 03:05:21 [executor.py:953] ValueError: Available memory on \
node 0 (10.88/23.54 GiB) on startup is less than desired CPU memory utilization (0.92, 21.66 GiB).
(APIServer pid=15102)   File "vllm/v1/engine/utils.py", line 1431, in wait_for_engine_startup
(APIServer pid=15102)     raise RuntimeError(
(APIServer pid=15102) RuntimeError: Engine core initialization failed. See root cause above.
"""
WORKER_KILLED = """\
(EngineCore pid=16395) ERROR 11-30 03:10:18 [executor.py:315] Worker proc VllmWorker-0 died \
unexpectedly (exit code: None), shutting down executor.
(APIServer pid=16316) ERROR 11-30 03:10:18 [llm.py:906] vllm.v1.engine.exceptions.EngineDeadError: \
EngineCore encountered an issue. See stack trace (above) for the root cause.
INFO:     127.0.0.1:43422 - "GET /health HTTP/1.1" 503 Service Unavailable
INFO:     Shutting down
(APIServer pid=16316) INFO 11-30 03:10:23 [core_client.py:777] [shutdown] MPClient: complete
 - leaked function "get_blocked_layout"
nanobind: this is likely caused by a reference counting issue in the binding code.
multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 1 leaked
  warnings.warn('resource_tracker: There appear to be %d '
"""


@pytest.mark.parametrize(
    ("text", "code", "kind", "said"),
    [
        (NO_MEMORY, 1, "oom", "Available memory on node 0"),
        (WORKER_KILLED, 0, "killed", "Worker proc VllmWorker-0 died unexpectedly"),
        ("torch.OutOfMemoryError: CUDA out of memory.\n", 1, "oom", "CUDA out of memory"),
        ("ValueError: No available memory for the cache blocks.\n", 1, "kv_cache", "cache blocks"),
        ("No module named 'vllm'\n", 1, "not_installed", "No module named"),
        ("api_server.py: error: unrecognized arguments: --no\n", 2, "arguments", "--no"),
        ("OSError: [Errno 98] Address already in use\n", 1, "port", "in use"),
        ("INFO 11-30 03:05:21 [a.py:1] all well\n", -9, "killed", "SIGKILL"),
        ("INFO 11-30 03:05:21 [a.py:1] all well\n", -15, "killed", "SIGTERM"),
        (
            "RuntimeError: no luck\ngood bye\n",
            1,
            "unknown",
            "it ended with 1: RuntimeError: no luck",
        ),
        (
            "RuntimeError: CPU Generator does not use offset\n"
            "EngineDeadError: EngineCore encountered an issue. See stack trace (above).\n",
            0,
            "unknown",
            "CPU Generator does not use offset",
        ),
        ("", 3, "unknown", "it said nothing"),
    ],
)
def test_the_reason_is_read_from_the_log(
    tmp_path: Path, text: str, code: int, kind: str, said: str
) -> None:
    log = tmp_path / "server.log"
    log.write_text("CUDA out of memory, in a life before\n" + text)
    crash = read_crash(code, log, since=len("CUDA out of memory, in a life before\n"))
    assert crash.kind == kind
    assert said in crash.detail
    assert "\n" not in crash.detail


def test_the_last_lines_are_those_that_say_something_and_hold_no_key(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(WORKER_KILLED + "ERROR: sk-abcdefghijklmnop was sent\n\x1b[31m")
    last = read_crash(0, log).last
    assert last[0].startswith("Worker proc")
    assert not [line for line in last if "leaked" in line or "503" in line or "nanobind" in line]
    assert "abcdefgh" not in str(last)
    assert "\x1b" not in str(last)


def test_a_log_that_is_missing_or_no_text_is_no_matter(tmp_path: Path) -> None:
    assert read_crash(1, tmp_path / "none").kind == "unknown"
    (tmp_path / "odd").write_bytes(b"\xff\xfe CUDA out of memory \x00")
    assert read_crash(1, tmp_path / "odd").kind == "oom"
