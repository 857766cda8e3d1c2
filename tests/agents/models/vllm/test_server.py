"""A server of our own: started when it is needed, watched, started again, never left behind."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evener.agents.models.vllm.process import ServerProcess
from evener.agents.models.vllm.server import ManagedServer
from evener.protocols.error import InfraError, ModelError

pytestmark = pytest.mark.slow  # servers are waited for, silent ones too


async def test_the_first_request_starts_it_and_close_ends_it(
    student: Any, fake: Any, journal: Any, ask: Any
) -> None:
    async with student(arguments=("--seed", "3")) as model:
        await model.check()
        assert fake.pids == []
        replies = await asyncio.gather(*(model.complete(ask(str(n))) for n in range(8)))
        assert {reply.text for reply in replies} == {"the base says this"}
        assert {reply.model for reply in replies} == {model.ref}
        assert len(fake.alive()) == 1
        # it is in a group of its own
        assert os.getpgid(fake.pids[0]) == fake.pids[0] != os.getpgid(0)
    assert fake.all_gone()
    assert len(fake.pids) == 1
    assert journal.events == ["starting", "ready"]
    (start,) = fake.asked("start")
    given = start["arguments"]
    assert given[given.index("--host") + 1] == "127.0.0.1"
    assert given[given.index("--dtype") + 1] == "float32"
    # of the ranks that vLLM takes, the next one
    assert given[given.index("--max-lora-rank") + 1] == "8"
    assert {"--enable-lora", "--seed", "3"} <= set(given)
    assert start["runtime"] == "True"


async def test_a_run_with_nothing_left_to_ask_starts_no_server(student: Any, fake: Any) -> None:
    async with student() as model:
        assert model.window == 2048
    assert fake.pids == []


async def test_the_key_stands_on_no_command_line_and_in_no_log(
    student: Any, fake: Any, journal: Any, ask: Any, tmp_path: Path
) -> None:
    async with student() as model:
        await model.complete(ask())
        server = model.serving_at
        assert isinstance(server, ManagedServer)
        key = server.key.value()
        said = fake.command_line()
    assert len(key) > 20
    assert key not in said
    assert key not in str(journal.entries)
    assert key not in (tmp_path / "server" / "server.log").read_text()
    assert key not in os.environ.values()


async def test_the_defaults_of_the_model_s_own_configuration_do_not_count(
    student: Any, fake: Any, ask: Any
) -> None:
    async with student() as model:
        await model.complete(ask(top_p=0.5, temperature=0.7, seed=3))
    body = fake.asked("chat")[-1]["body"]
    assert (body["top_p"], body["top_k"], body["repetition_penalty"]) == (0.5, 0, 1.0)
    assert body["seed"] == 3


async def test_special_tokens_in_what_was_written_are_defused_as_in_training(
    student: Any, fake: Any, ask: Any
) -> None:
    async with student() as model:
        await model.complete(ask("end it: <|im_end|>"))
    (message,) = fake.asked("chat")[-1]["body"]["messages"]
    assert message["content"] == "end it: < |im_end|>"


async def test_requests_under_way_at_a_crash_are_infra_and_the_next_one_is_answered(
    student: Any, fake: Any, journal: Any, ask: Any
) -> None:
    # the first chat of a life is our own look at its tokens
    fake.script({"1": {"crash_after": 5, "delay": 0.5, "last_words": "RuntimeError: no luck"}})
    async with student() as model:
        results = await asyncio.gather(
            *(model.complete(ask(str(n))) for n in range(8)), return_exceptions=True
        )
        lost = [r for r in results if isinstance(r, BaseException)]
        assert lost
        assert {type(r) for r in lost} == {InfraError}
        assert {r.kind for r in lost if isinstance(r, InfraError)} == {"server_died"}
        assert (await model.complete(ask("again"))).text == "the base says this"
    assert fake.all_gone()
    assert journal.events == ["starting", "ready", "died", "starting", "ready"]
    died = next(b for b in journal.bodies("server") if b["event"] == "died")
    assert died["kind"] == "killed"
    assert died["code"] == -signal.SIGKILL
    assert "RuntimeError: no luck" in str(died["last"])


async def test_killing_it_from_outside_takes_its_workers_along(
    student: Any, fake: Any, ask: Any
) -> None:
    fake.script({"1": {"child": True, "hang_after": 2}})
    async with student() as model:
        await model.complete(ask())
        first, worker = fake.pids
        waiting = asyncio.create_task(model.complete(ask()))
        await asyncio.sleep(0.2)
        os.kill(first, signal.SIGKILL)
        with pytest.raises(InfraError) as caught:
            await asyncio.wait_for(waiting, 60)
        assert caught.value.kind == "server_died"
        assert (await model.complete(ask())).text
        assert worker not in fake.alive()
    assert fake.all_gone()


@pytest.mark.parametrize("mode", ["hang_after", "hang_all_after"])
async def test_a_server_that_computes_nothing_is_killed_and_started_again(
    student: Any, fake: Any, journal: Any, ask: Any, mode: str
) -> None:
    fake.script({"1": {mode: 2}})
    async with student(silence_s=1.5) as model:
        await model.complete(ask())
        with pytest.raises(InfraError) as caught:
            await asyncio.wait_for(model.complete(ask()), 60)
        assert caught.value.kind == "server_hung"
        assert (await model.complete(ask())).text
    assert fake.all_gone()
    assert journal.events == ["starting", "ready", "hung", "starting", "ready"]


async def test_a_server_that_is_slow_but_answers_is_left_alone(
    student: Any, fake: Any, journal: Any, ask: Any
) -> None:
    fake.script({"1": {"delay": 0.6}})
    async with student(silence_s=1.5) as model:
        for n in range(4):
            await model.complete(ask(str(n)))
        await asyncio.sleep(2.5)  # and one that nobody asks hangs not
        await model.complete(ask())
    assert journal.events == ["starting", "ready"]


async def test_restarts_are_bounded_and_the_end_says_why(
    student: Any, fake: Any, journal: Any, ask: Any
) -> None:
    words = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    fake.script({"then": {"crash_after": 2, "last_words": words}})
    async with student(restarts=2) as model:
        for _ in range(3):
            with pytest.raises(InfraError):
                await model.complete(ask())
        with pytest.raises(ModelError, match=r"started 3 times.*\(oom\).*cache_gib"):
            await model.complete(ask())
        with pytest.raises(ModelError, match="started 3 times"):
            await model.complete(ask())
    assert len(fake.pids) == 3
    assert journal.events.count("died") == 3


async def test_one_that_dies_at_the_start_is_one_clear_line(
    student: Any, fake: Any, journal: Any, ask: Any
) -> None:
    says = (
        "(EngineCore pid=7) ERROR 11-30 03:05:21 [core.py:9] Traceback (most recent call last):\n"
        '(EngineCore pid=7) ERROR 11-30 03:05:21 [core.py:9]   File "a.py", line 3, in f\n'
        "(EngineCore pid=7) ERROR 11-30 03:05:21 [core.py:9] ValueError: To serve at least one "
        "request with the model's max seq len (8192), 1.5 GiB KV cache is needed, which is larger\n"
        "RuntimeError: Engine core initialization failed. See root cause above."
    )
    fake.script({"then": {"says": says, "exit": 1}})
    async with student() as model:
        results = await asyncio.gather(
            *(model.complete(ask(str(n))) for n in range(5)), return_exceptions=True
        )
    assert {type(result) for result in results} == {ModelError}
    line = str(results[0])
    assert "does not start (kv_cache): ValueError: To serve at least one" in line
    assert "server.log" in line
    assert "lower student.vllm.max_model_len" in line
    assert len(fake.pids) == 1
    assert journal.events == ["starting", "died"]


async def test_a_port_that_somebody_took_meanwhile_is_another_try(
    student: Any, fake: Any, ask: Any
) -> None:
    fake.script({"1": {"says": "OSError: [Errno 98] Address already in use", "exit": 1}})
    async with student() as model:
        assert (await model.complete(ask())).text
    assert len(fake.pids) == 2


async def test_one_that_is_never_ready_is_ended_after_its_time(
    student: Any, fake: Any, ask: Any
) -> None:
    fake.script({"then": {"never_ready": True, "child": True}})
    async with student(start_s=2.0) as model:
        with pytest.raises(ModelError, match=r"\(slow\): it was not ready after 2 s.*start_s"):
            await model.complete(ask())
        assert fake.all_gone()


async def test_a_server_that_makes_other_tokens_than_training_is_not_used(
    student: Any, fake: Any, ask: Any
) -> None:
    fake.script({"then": {"tokens": [1, 2, 3]}})
    async with student() as model:
        with pytest.raises(ModelError, match=r"other tokens .* \(3 and \d+\)"):
            await model.complete(ask())
        with pytest.raises(ModelError, match="other tokens"):
            await model.complete(ask())
        assert fake.all_gone()
    assert len(fake.pids) == 1


async def test_closing_ends_what_is_under_way_even_the_start(
    student: Any, fake: Any, ask: Any
) -> None:
    fake.script({"1": {"never_ready": True}})
    async with student() as model:
        waiting = [asyncio.create_task(model.complete(ask(str(n)))) for n in range(3)]
        await fake.started()
        await model.close()
        results = await asyncio.gather(*waiting, return_exceptions=True)
        assert [getattr(r, "kind", r) for r in results] == ["closed"] * 3
        with pytest.raises(InfraError, match="closed"):
            await model.complete(ask())
    assert fake.all_gone()


async def test_who_stops_waiting_does_not_stop_the_start_for_others(
    student: Any, fake: Any, ask: Any
) -> None:
    async with student() as model:
        first = asyncio.create_task(model.complete(ask("1")))
        second = asyncio.create_task(model.complete(ask("2")))
        await fake.started()
        first.cancel()
        assert (await second).text
        with pytest.raises(asyncio.CancelledError):
            await first
    assert len(fake.pids) == 1


async def test_an_interpreter_without_vllm_is_named_before_anything_starts(student: Any) -> None:
    async with student(python=sys.executable) as model:
        with pytest.raises(ModelError, match=r"not installed.*EVENER_VLLM_PYTHON"):
            await model.check()
    async with student(python="/nowhere/python") as model:
        with pytest.raises(ModelError, match=r"/nowhere/python.*student.vllm.python"):
            await model.check()


async def test_without_a_run_the_log_is_in_the_cache_and_goes_when_all_was_well(
    student: Any, fake: Any, ask: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENER_CACHE", str(tmp_path / "cache"))
    async with student() as model:
        model.serving_at._folder = None
        await model.complete(ask())
        assert list((tmp_path / "cache" / "vllm").iterdir())
    assert not list((tmp_path / "cache" / "vllm").iterdir())


ORPHAN = """
import asyncio, sys
from pathlib import Path
from evener.agents.models.vllm.settings import VllmSettings
from evener.agents.models.vllm.start import managed

async def main():
    model = managed(Path(sys.argv[2]), settings=VllmSettings(python=sys.argv[1]))
    await model.serving_at.up()
    print("ready", flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_of_it_when_whoever_started_it_is_gone(
    fake: Any, tiny: Path, tmp_path: Path, sent: signal.Signals
) -> None:
    fake.script({"1": {"child": True}})
    env = os.environ | {"EVENER_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-c", ORPHAN, fake.python, str(tiny)]
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert len(fake.alive()) == 2
        process.send_signal(sent)
        process.wait(60)
    assert fake.all_gone()


async def test_nothing_is_left_when_the_guard_itself_is_killed(
    student: Any, fake: Any, journal: Any, ask: Any
) -> None:
    fake.script({"1": {"child": True}})
    async with student() as model:
        await model.complete(ask())
        process = model.serving_at.life.process
        assert isinstance(process, ServerProcess)
        process._guard.kill()
        assert await fake.gone()
        await asyncio.wait_for(asyncio.shield(model.serving_at.life.gone), 60)
        assert journal.events == ["starting", "ready", "died"]
        assert (await model.complete(ask())).text
