"""What is run and with which variables, and what a configuration may not say."""

import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evener.agents.models.vllm.command import Launch, find_python
from evener.agents.models.vllm.name import is_managed, weights_of
from evener.agents.models.vllm.settings import VllmSettings


def launch(**given: Any) -> Launch:
    settings = VllmSettings(**given)
    return Launch(
        python="/x/bin/python",
        folder=Path("/models/m"),
        name="m",
        dtype="float32",
        rank=8,
        settings=settings,
        threads=2,
    )


@pytest.mark.parametrize(
    "argument",
    [
        "--host",
        "--host=0.0.0.0",
        "--port=1",
        "--api-key",
        "--api_key=x",
        "--enable-lora",
        "--model",
    ],
)
def test_what_evener_says_itself_may_not_be_said_again(argument: str) -> None:
    with pytest.raises(ValidationError, match="said by evener itself"):
        VllmSettings(arguments=(argument,))


@pytest.mark.parametrize("argument", ["--model-impl", "--max-num-seqs", "0.0.0.0", "-O3"])
def test_other_arguments_go_to_the_server_before_ours(argument: str) -> None:
    command = launch(arguments=(argument,)).command(8000)
    assert command.index(argument) < command.index("--host")


def test_the_key_is_a_variable_and_no_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    env = launch().environment("s3cret")
    assert env["VLLM_API_KEY"] == "s3cret"
    assert "s3cret" not in " ".join(launch().command(1))
    assert "PYTHONPATH" not in env
    assert env["OMP_NUM_THREADS"] == "2"
    assert env["PATH"].startswith("/x/bin:")


def test_the_cache_is_bounded_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)

    def bytes_of(**given: Any) -> int | None:
        command = launch(**given).command(1)
        name = "--kv-cache-memory-bytes"
        return int(command[command.index(name) + 1]) if name in command else None

    assert bytes_of() == 2 << 30
    assert bytes_of(cache_gib=0.5) == 1 << 29
    assert bytes_of(arguments=("--gpu-memory-utilization", "0.4")) is None


def test_prompts_are_read_whole_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "--no-enable-chunked-prefill" in launch().command(1)
    said = launch(arguments=("--enable-chunked-prefill",)).command(1)
    assert "--no-enable-chunked-prefill" not in said


def test_the_next_rank_that_vllm_takes() -> None:
    assert VllmSettings().rank(4) == 8
    assert VllmSettings().rank(16) == 16
    assert VllmSettings(max_lora_rank=33).rank(16) == 64
    with pytest.raises(ValueError, match="up to rank 512, not 600"):
        VllmSettings().rank(600)


def test_which_interpreter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("EVENER_VLLM_PYTHON", raising=False)
    assert find_python(None) == sys.executable
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    monkeypatch.setenv("EVENER_VLLM_PYTHON", str(link))
    assert find_python(None) == str(link)
    assert find_python("/nowhere/python") == "/nowhere/python"


def test_which_names_start_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("vllm/embedded", "vllm//models/m", "vllm/owner/name", "vllm/owner/name@main"):
        assert is_managed(name), name
    for name in ("vllm/name@main", "vllm/", "vllm", "embedded", "hosted_vllm/m"):
        assert not is_managed(name), name
    (tmp_path / "vllm" / "mine").mkdir(parents=True)
    assert not is_managed("vllm/mine")
    assert weights_of("vllm//models/m") == "/models/m"
