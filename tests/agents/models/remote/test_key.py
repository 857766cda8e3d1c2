"""A key that a server repeats is in no error and in no reply, whatever keys look like there."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from evener.agents.models.remote.key import Key
from evener.agents.models.remote.litellm import Provider
from evener.agents.models.remote.outcome import CallFault, plain
from evener.agents.models.remote.settings import RemoteSettings
from evener.protocols.error import EvenerError, ModelError

SECRET = "open-sesame-4711"


@asynccontextmanager
async def repeating(body: str, kind: str = "application/json") -> AsyncGenerator[str]:
    """The address of a server that answers everything with 200 and that body."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        length = len(body.encode())
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n"
        head += "Connection: close\r\n\r\n"
        writer.write((head + body).encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}/v1"


@pytest.mark.parametrize(
    "body", [f"no JSON for {SECRET}", f'{{"error": {{"message": "what is {SECRET}?"}}}}']
)
async def test_an_answer_that_repeats_the_key_is_told_without_it(
    lean: Callable[..., Any], ask: Any, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENER_TEST_KEY", SECRET)
    async with (
        repeating(body) as url,
        lean(url, api_key_env="EVENER_TEST_KEY", attempts=1) as model,
    ):
        with pytest.raises(EvenerError) as caught:
            await model.complete(ask())
    assert "…" in str(caught.value)
    assert SECRET not in str(caught.value)


async def test_a_provider_s_own_key_is_hidden_without_being_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Library:
        async def acompletion(self, **_: Any) -> Any:
            raise RuntimeError(f"Incorrect API key provided: {SECRET}.")

    monkeypatch.setenv("GROQ_API_KEY", SECRET)
    provider = Provider(Library(), "groq/small", address=None, settings=RemoteSettings())
    with pytest.raises(CallFault) as caught:
        await provider.send({})
    assert "Incorrect API key provided: …" in caught.value.detail


@pytest.mark.parametrize(
    "key", ["sk-abcd1234", "gsk_abcd1234", "xai-abcd1234", "nvapi-abcd1234", "AIzaSyAbcd1234"]
)
def test_what_looks_like_a_key_is_never_told(key: str) -> None:
    told = plain(f"no such key: {key}!")
    assert key not in told
    assert told.startswith("no such key: ")


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_a_reply_that_repeats_the_key_is_kept_without_it(
    lean: Callable[..., Any], ask: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENER_TEST_KEY", SECRET)
    choice = {"index": 0, "finish_reason": "stop"}
    said = {"role": "assistant", "content": f"it is {SECRET}"}
    part = "delta" if kind.endswith("stream") else "message"
    body = json.dumps({"choices": [choice | {part: said}]})
    text = f"data: {body}\n\ndata: [DONE]\n\n" if kind.endswith("stream") else body
    async with repeating(text, kind) as url, lean(url, api_key_env="EVENER_TEST_KEY") as model:
        reply = await model.complete(ask())
    assert reply.text == "it is …"
    assert SECRET not in reply.model_dump_json()


async def test_a_key_that_is_a_word_changes_neither_texts_nor_counts(
    lean: Callable[..., Any], ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENER_TEST_KEY", "token")
    said = {"role": "assistant", "content": "the token is 7"}
    usage = {"prompt_tokens": 9, "completion_tokens": 4}
    choices = [{"index": 0, "finish_reason": "stop", "message": said}]
    body = json.dumps({"choices": choices, "usage": usage})
    async with repeating(body) as url, lean(url, api_key_env="EVENER_TEST_KEY") as model:
        reply = await model.complete(ask())
    assert reply.text == "the token is 7"
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (9, 4)


def test_a_key_is_hidden_as_json_writes_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    key = 'secr"et/12345'
    monkeypatch.setenv("EVENER_TEST_KEY", key)
    assert Key("EVENER_TEST_KEY").hide(json.dumps({"said": key})) == '{"said": "…"}'


def test_a_key_that_cannot_be_sent_is_told_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_TEST_KEY", "abcd\nefgh99999")
    with pytest.raises(ModelError, match="EVENER_TEST_KEY to the key alone"):
        Key("EVENER_TEST_KEY").require("student")
