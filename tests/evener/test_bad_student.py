"""A student that cannot be used, as a user meets it: `evener run` ends with one line and 2."""

import asyncio
import json
import os
import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evener.agents.models.remote.extra import extra
from evener.agents.models.remote.faults import FaultServer

WRONG = '{"name": "final", "arguments": {"answer": -1}}'
PLAN = """
[plan.training]
method = "none"
"""
LONG = """
name: long
prompt: {system: Answer.}
middleware: {loop: {max_reply_tokens: 9000000}}
"""
NATIVE = """
name: native
prompt: {system: Answer with one call.}
middleware: {protocol: {format: native}}
"""
TOOLS = """
tools:
- {name: final, description: answer, action: final, parameters: {type: object,
   properties: {answer: {type: number}}, required: [answer]}}
"""


async def refused(folder: Path, student: str, *overrides: str, **variables: str) -> str:
    """The one line that `evener run` ends with. Variables that are empty are not set."""
    file, out = folder / "run.toml", folder / "run"
    shutil.rmtree(out, ignore_errors=True)
    file.write_text(f"[student]\n{student}\n{PLAN}", "utf-8")
    told = {**os.environ, "HF_HUB_OFFLINE": "1", **variables}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "evener", "run", str(file), "--out", str(out), *overrides),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={name: value for name, value in told.items() if value},
    )
    answer, talk = (part.decode() for part in await asyncio.wait_for(process.communicate(), 600))
    assert (process.returncode, answer) == (2, ""), talk
    assert "Traceback" not in talk
    lines = [line for line in talk.splitlines() if line.startswith("evener: ")]
    assert [talk.splitlines()[-1]] == lines, talk
    return lines[0]


def at(url: str, model: str = "hosted_vllm/small", *more: str) -> str:
    return "\n".join([f'model = "{model}"', f'api_base = "{url}"', *more])


async def test_an_unknown_provider_is_answered_with_the_nearest(tmp_path: Path) -> None:
    assert "did you mean openai/gpt-4o?" in await refused(tmp_path, 'model = "opnai/gpt-4o"')
    line = await refused(tmp_path, at("http://127.0.0.1:9", "opnai/gpt-4o"))
    assert line == "evener: 'opnai/gpt-4o': no such provider. nearest: openai/gpt-4o"


async def test_an_unknown_model_is_answered_with_those_that_there_are(tmp_path: Path) -> None:
    async with FaultServer(WRONG, models=("small", "large")) as server:
        line = await refused(tmp_path, at(server.url, "hosted_vllm/smal"))
    assert "no model 'smal'" in line
    assert line.endswith("does not exist. there are small")


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai/gpt-4o", "OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-4", "ANTHROPIC_API_KEY"),
        ("litellm/groq/llama-3.1-8b-instant", "GROQ_API_KEY"),
    ],
)
async def test_a_missing_key_is_named_by_its_variable(
    tmp_path: Path, model: str, variable: str
) -> None:
    line = await refused(tmp_path, f'model = "{model}"', **{variable: ""})
    assert line.endswith(f"the key is missing. set the variable {variable}")
    assert not (tmp_path / "run").exists()


async def test_a_key_that_is_not_taken_is_named_by_its_variable_and_not_shown(
    tmp_path: Path,
) -> None:
    async with FaultServer(WRONG, key="the-right-one") as server:
        student = at(server.url, "hosted_vllm/small", 'provider = {api_key_env = "LAB_KEY"}')
        line = await refused(tmp_path, student, LAB_KEY="hunter22hunter22")
        assert "check the key in LAB_KEY" in line
        assert "hunter22" not in line
        line = await refused(tmp_path, student, LAB_KEY="")
        assert line.endswith("set the variable LAB_KEY")
        assert server.books.requests == 0


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
async def test_an_address_may_be_spelled_as_the_server_prints_it(
    tmp_path: Path, ending: str
) -> None:
    async with FaultServer(WRONG, models=("small",)) as server:
        line = await refused(tmp_path, at(server.url + ending, "hosted_vllm/other"))
        assert f"{server.url}/v1/chat/completions was not found: The model `other`" in line
        assert server.books.requests > 0


async def test_a_wrong_path_is_one_line_with_both_addresses_that_were_tried(
    tmp_path: Path,
) -> None:
    async with FaultServer(WRONG) as server:
        line = await refused(tmp_path, at(f"{server.url}/proxy/api/v1"))
    for path in ("chat/completions", "models"):
        assert f"{server.url}/proxy/api/v1/{path} was not found" in line
    assert line.endswith("correct api_base")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("127.0.0.1:8000", "is no http address"),
        ("http://me:secret@127.0.0.1:8000", "holds a name, a password, a query or a fragment"),
        ("http://127.0.0.1:9", "no server answers"),
    ],
)
async def test_an_address_that_cannot_be_called_is_one_line(
    tmp_path: Path, url: str, said: str
) -> None:
    line = await refused(tmp_path, at(url))
    assert said in line
    assert "secret" not in line
    assert not (tmp_path / "run").exists()


async def test_a_server_without_an_address_is_asked_for_one(tmp_path: Path) -> None:
    line = await refused(tmp_path, 'model = "hosted_vllm/small"', HOSTED_VLLM_API_BASE="")
    assert "student.api_base: hosted_vllm is a server of your own: where is it? http://" in line


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
async def test_a_certificate_that_nobody_vouches_for_is_one_line(tmp_path: Path) -> None:
    def certified() -> ssl.SSLContext:
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"),
                *("-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "certificate")),
                *("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"),
            ],
            check=True,
            capture_output=True,
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
        return context

    async with FaultServer(WRONG, models=("small",), tls=await asyncio.to_thread(certified)) as s:
        line = await refused(tmp_path, at(s.url))
        assert "the certificate is not trusted" in line
        assert "SSL_CERT_FILE" in line
        assert not (tmp_path / "run").exists()
        trusted = str(tmp_path / "certificate")
        line = await refused(tmp_path, at(s.url, "hosted_vllm/x"), SSL_CERT_FILE=trusted)
        assert "there are small" in line


async def test_a_model_without_tools_under_a_harness_of_native_calls_is_told_what_to_use(
    tmp_path: Path,
) -> None:
    (tmp_path / "native.yaml").write_text(NATIVE + TOOLS, "utf-8")

    def answer(body: dict[str, Any]) -> str:
        assert body["tools"]
        raise extra("aiohttp.web").HTTPBadRequest(
            text=json.dumps({"error": {"message": "library/small does not support tools"}}),
            content_type="application/json",
        )

    async with FaultServer(answer) as server:
        line = await refused(
            tmp_path, at(server.url), f"harness.start={json.dumps(str(tmp_path / 'native.yaml'))}"
        )
    assert "the server refuses: library/small does not support tools" in line
    assert line.endswith("use a harness whose protocol is json or hermes")


async def test_a_window_that_is_too_small_is_refused_at_the_start_with_both_figures(
    tmp_path: Path,
) -> None:
    async with FaultServer(WRONG, models=("small",), window=90) as server:
        line = await refused(tmp_path, at(server.url))
        assert "storefront-seed needs about " in line
        assert "the window of hosted_vllm/small has 90." in line
        assert server.books.requests == 0
    assert not (tmp_path / "run").exists()


async def test_the_window_of_a_provider_s_own_service_is_known_without_asking_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "long.yaml").write_text(LONG + TOOLS, "utf-8")
    line = await refused(
        tmp_path,
        'model = "openai/gpt-4o"',
        f"harness.start={json.dumps(str(tmp_path / 'long.yaml'))}",
        OPENAI_API_KEY="none-at-all",
    )
    assert "long needs about 9000" in line
    assert "the window of openai/gpt-4o has 128000." in line
    assert not (tmp_path / "run").exists()
