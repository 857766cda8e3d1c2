"""A vLLM server that somebody else runs: adapters where it takes them, and it goes on after."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from evener.agents.models.local.adapter import CONFIG, adapter_ref
from evener.agents.models.remote.faults import FaultServer
from evener.agents.models.remote.settings import RemoteSettings
from evener.agents.models.vllm.start import hosted
from evener.protocols.error import ModelError


@pytest.fixture
def address(fake: Any, tiny: Path) -> Iterator[str]:
    """Of a fake that was started by hand."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    env = os.environ | {"VLLM_API_KEY": "k3y", "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True"}
    command = [fake.python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(tiny)]
    command += ["--served-model-name", "small", "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, env=env) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
        process.kill()


async def test_adapters_come_and_go_and_the_server_stays(
    fake: Any, address: str, lora: Path, tiny: Path, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "k3y")
    provider = RemoteSettings(api_key_env="MY_KEY")
    model = hosted("small", address, weights=tiny, provider=provider)
    assert await model.check() == ("small",)
    config = json.loads((lora / CONFIG).read_text())
    assert config["base_model_name_or_path"] == tiny.name
    ref = await model.load_adapter("m1", lora)
    assert ref == adapter_ref(model.ref, "m1", lora)
    assert (await model.use(ref).complete(ask())).text == "changed: the base says this"
    assert (await model.complete(ask())).text == "the base says this"
    # its own defaults are its own matter
    assert "top_k" not in fake.asked("chat")[-1]["body"]
    await model.close()
    assert fake.alive()
    loads = [(one["kind"], one["lora_name"]) for one in fake.asked("load", "unload")]
    assert [kind for kind, _ in loads] == ["load", "unload"]
    assert loads[0][1] == loads[1][1]


async def test_a_key_that_is_wrong_is_said(fake: Any, address: str, lora: Path, tiny: Path) -> None:
    model = hosted("small", address, weights=tiny)
    with pytest.raises(ModelError, match="no adapter may be loaded: Unauthorized"):
        await model.load_adapter("m1", lora)
    await model.close()


async def test_a_server_without_runtime_updating_says_how_to_start_it(lora: Path) -> None:
    async with FaultServer() as server:
        model = hosted("tiny-llama", server.url)
        with pytest.raises(ModelError, match="VLLM_ALLOW_RUNTIME_LORA_UPDATING"):
            await model.load_adapter("m1", lora)
        await model.close()


async def test_clashes_that_need_no_weights_are_found_without_them(
    lora: Path, tmp_path: Path
) -> None:
    model = hosted("another", "http://127.0.0.1:9")
    with pytest.raises(ModelError, match="its base is 'tiny-llama', the model served is"):
        await model.load_adapter("m1", lora)
    await model.close()
