"""A name in a configuration becomes the client that fits, or one line that says why not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evener.agents.models.remote.connect import check_remote, connect
from evener.agents.models.remote.faults import FaultServer
from evener.agents.models.remote.litellm import LiteLLMModel
from evener.agents.models.remote.openai import OpenAIModel
from evener.agents.models.remote.provider import PROVIDERS, is_remote, near
from evener.agents.models.remote.settings import RemoteSettings
from evener.protocols.error import ModelError
from evener.protocols.message import Message
from evener.protocols.model import Request


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.endswith(("_API_KEY", "_API_BASE"))]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("model", "remote"),
    [
        ("openai/gpt-5", True),
        ("hosted_vllm/Qwen/Qwen3-4B", True),
        ("litellm/novita/whatever", True),
        ("ollama/llama3:8b", True),
        ("embedded", False),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", False),
        ("openai/gpt-oss-20b@main", False),
        ("openai/", False),
        ("models/mine", False),
        ("./openai/x", False),
    ],
)
def test_which_names_are_of_a_provider(model: str, remote: bool) -> None:
    assert is_remote(model) is remote


def test_a_folder_is_a_folder_whatever_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "openai" / "mine").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert not is_remote("openai/mine")


def test_servers_get_the_lean_client_and_the_rest_the_library() -> None:
    base = "http://127.0.0.1:8000"
    for model in ("openai/m", "hosted_vllm/m", "mistral/m"):
        found = connect(model, api_base=base)
        assert isinstance(found, OpenAIModel)
        assert found.ref.base == model
        assert found.ref.revision == f"{model}@127.0.0.1:8000/v1"
    assert isinstance(connect("ollama/llama3"), OpenAIModel)
    assert isinstance(connect("litellm/openai/m", api_base=base), LiteLLMModel)


def test_a_provider_s_own_service_goes_by_the_library_with_its_price(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-something")
    model = connect("openai/gpt-4o-mini", settings=RemoteSettings(budget={"usd": 1.0}))  # type: ignore[arg-type]
    assert isinstance(model, LiteLLMModel)
    assert model.ref.revision == "openai/gpt-4o-mini@openai"
    assert not model.unpriced()
    unknown = connect("openai/nobody-priced-this", settings=model.settings)
    assert unknown.unpriced()


@pytest.mark.parametrize("provider", [n for n, p in PROVIDERS.items() if p.key and not p.lean])
def test_a_missing_key_is_named_before_any_call(provider: str) -> None:
    with pytest.raises(ModelError, match=rf"set the variable {PROVIDERS[provider].key}"):
        check_remote(f"{provider}/some-model")


def test_a_key_under_another_name_that_its_provider_takes_will_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "x")
    check_remote("gemini/gemini-2.5-flash")
    check_remote("bedrock/some-model")  # by a role of the machine, say


def test_a_key_of_one_s_own_is_asked_for_by_its_name() -> None:
    settings = RemoteSettings(api_key_env="MY_KEY")
    with pytest.raises(ModelError, match="set the variable MY_KEY"):
        connect("openai/m", api_base="http://127.0.0.1:8000", settings=settings)


def test_a_server_of_one_s_own_needs_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match="where is it"):
        connect("hosted_vllm/m")
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", "http://127.0.0.1:8000/v1/")
    assert connect("hosted_vllm/m").ref.revision == "hosted_vllm/m@127.0.0.1:8000/v1"


def test_an_unknown_provider_names_the_nearest() -> None:
    assert near("opnai/gpt-5") == ("openai/gpt-5",)
    with pytest.raises(ModelError, match="nearest: anthropic/x"):
        connect("antropic/x", api_base="http://127.0.0.1:8000")
    with pytest.raises(ModelError, match=r"nearest names: .*novita"):
        connect("litellm/novitta/x")


def test_a_key_that_the_library_alone_knows_of_is_named_too() -> None:
    with pytest.raises(ModelError, match="set the variable NOVITA_API_KEY"):
        connect("litellm/novita/x")


async def test_vllm_is_asked_for_the_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", "sesame")
    settings = RemoteSettings(logprobs=True)
    async with FaultServer("two words", key="sesame") as server:
        model = connect("hosted_vllm/m", api_base=server.url, settings=settings)
        request = Request(messages=(Message(role="user", content="x"),))
        reply = await model.complete(request)
        await model.close()
    assert (reply.token_ids, reply.mean_logprob) == ((0, 1, 2), -0.5)


async def test_a_view_serves_another_name_over_the_same_connections() -> None:
    async with FaultServer(lambda body: str(body["model"])) as server:
        model = connect("hosted_vllm/base", api_base=server.url)
        ref = model.ref.model_copy(update={"adapter": "m1", "revision": "abc"})
        view = model.serving("m1", ref)
        request = Request(messages=(Message(role="user", content="x"),))
        replies = [await m.complete(request) for m in (model, view)]
        assert [r.text for r in replies] == ["base", "m1"]
        assert replies[1].model == ref
        assert view.spending is model.spending
        await model.close()


async def test_a_provider_s_key_goes_to_no_other_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "open-sesame-4711")
    async with FaultServer() as server:
        model = connect("openai/small", api_base=server.url)
        await model.complete(Request(messages=(Message(role="user", content="x"),)))
        await model.close()
    assert set(server.keys) == {""}


def test_the_librarys_own_remarks_are_nobodys_business() -> None:
    """Which test loads a part of it first is chance, so this has a process of its own."""
    script = """
import warnings
from evener.agents.models.remote.litellm import quiet
quiet()
warnings.resetwarnings()
warnings.simplefilter("error", UserWarning)
quiet()
import litellm.llms.github_copilot.authenticator
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
