from collections.abc import Callable
from typing import Any

import pytest

from evener.agents.models.remote.address import Address
from evener.agents.models.remote.faults import FaultServer
from evener.protocols.error import ModelError


@pytest.mark.parametrize(
    ("text", "completions"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1/chat/completions"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1/chat/completions"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1/chat/completions"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1/chat/completions"),
        (
            "http://127.0.0.1:8000/v1/chat/completions",
            "http://127.0.0.1:8000/v1/chat/completions",
        ),
        (
            "http://127.0.0.1:8000/proxy/api/v1",
            "http://127.0.0.1:8000/proxy/api/v1/chat/completions",
        ),
        (" https://a.example ", "https://a.example/v1/chat/completions"),
        ("http://[::1]:8000", "http://[::1]:8000/v1/chat/completions"),
    ],
)
def test_every_spelling_of_an_address_reaches_the_completions(text: str, completions: str) -> None:
    assert Address.of(text).completions == completions


@pytest.mark.parametrize(
    "text", ["127.0.0.1:8000", "ftp://a.example", "http://", "http://a:b", "", "localhost"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ModelError, match="api_base"):
        Address.of(text)


@pytest.mark.parametrize(
    "text",
    [
        "http://me:hunter22@a.example",
        "https://a.example/v1?key=hunter22",
        "https://a.example/v1#hunter22",
        "http://me:80/hunter22@a.example",
    ],
)
def test_an_address_that_holds_a_secret_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(ModelError, match="environment variable") as caught:
        Address.of(text)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
async def test_the_client_reaches_a_server_by_each_of_them(
    lean: Callable[..., Any], ask: Any, ending: str
) -> None:
    async with FaultServer("in") as server, lean(server.url + ending) as model:
        assert (await model.complete(ask())).text == "in"


async def test_a_prefix_is_kept(lean: Callable[..., Any], ask: Any) -> None:
    async with (
        FaultServer("in", prefix="/proxy/api/v1") as server,
        lean(f"{server.url}/proxy/api/v1") as model,
    ):
        assert (await model.complete(ask())).text == "in"


async def test_a_wrong_address_shows_the_url_that_was_tried_and_what_models_answered(
    lean: Callable[..., Any], ask: Any
) -> None:
    async with FaultServer(prefix="/other/v1") as server, lean(server.url) as model:
        with pytest.raises(ModelError) as caught:
            await model.complete(ask())
    line = str(caught.value)
    assert f"{server.url}/v1/chat/completions was not found" in line
    assert f"asked for its models, it says: {server.url}/v1/models was not found" in line
    assert "correct api_base" in line


async def test_a_model_that_is_not_there_names_those_that_are_nearest(
    lean: Callable[..., Any], ask: Any
) -> None:
    async with (
        FaultServer(models=("qwen3-4b", "qwen3-8b", "llama-3")) as server,
        lean(server, name="qwen3-7b") as model,
    ):
        with pytest.raises(ModelError, match=r"no model 'qwen3-7b'.*there are qwen3-") as caught:
            await model.complete(ask())
    assert "llama" not in str(caught.value)


async def test_a_check_tells_names_and_window_and_what_is_wrong(
    lean: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FaultServer(models=("small", "m1"), window=2048) as server:
        async with lean(server) as model:
            assert await model.check() == ("small", "m1")
            assert model.window == 2048
        assert server.books.requests == 0
    async with lean("http://127.0.0.1:9") as model:
        with pytest.raises(ModelError, match=r"no server answers.*api_base"):
            await model.check()
    async with FaultServer(key="sesame") as server, lean(server) as model:
        with pytest.raises(ModelError, match="api_key_env"):
            await model.check()
    async with FaultServer(prefix="/without") as server, lean(server) as model:
        assert await model.check() == ()
