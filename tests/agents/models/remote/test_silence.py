"""A server that goes silent, breaks off, or is not whom it says it is."""

import asyncio
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evener.agents.models.remote.faults import Fault, FaultServer, scripted
from evener.protocols.error import InfraError, ModelError

Client = Callable[..., Any]
OPENSSL = [
    "openssl",
    "req",
    "-x509",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-days",
    "2",
    "-subj",
    "/CN=127.0.0.1",
]
OPENSSL += ["-addext", "subjectAltName=IP:127.0.0.1"]
SHORT = {"connect_s": 1.5, "read_s": 1.5, "total_s": 2.0}


@pytest.mark.parametrize("kind", ["hang", "silence"])
async def test_silence_ends_in_time_and_nobody_else_waits_for_it(
    client: Client, ask: Any, kind: Any
) -> None:
    async with (
        FaultServer("fine", scripted([kind])) as server,
        client(server, attempts=1, timeouts=SHORT) as model,
    ):
        silent = asyncio.create_task(model.complete(ask("first")))
        await server.reached(1)
        assert (await model.complete(ask("second"))).text == "fine"
        assert not silent.done()
        with pytest.raises(InfraError) as caught:
            await asyncio.wait_for(silent, 60)
    assert caught.value.kind == "timeout"


async def test_partial_text_is_never_a_reply(client: Client, ask: Any) -> None:
    async with FaultServer("The total is 42", scripted(["cut", "garbage"])) as server:
        async with client(server) as model:
            assert (await model.complete(ask())).text == "The total is 42"
        assert server.books.requests == 3


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """A certificate that nobody vouches for."""
    folder: Path = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [*OPENSSL, "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


async def test_a_certificate_that_nobody_vouches_for_is_one_clear_line(
    client: Client, ask: Any, tls: ssl.SSLContext
) -> None:
    async with FaultServer(tls=tls) as server, client(server) as model:
        with pytest.raises(ModelError) as caught:
            await model.complete(ask())
    line = str(caught.value)
    assert "the certificate is not trusted" in line
    assert "SSL_CERT_FILE" in line
    assert "\n" not in line


async def test_closing_one_model_leaves_the_others_their_connections(
    client: Client, ask: Any
) -> None:
    slow = scripted([None, Fault("latency", seconds=0.5)])
    async with FaultServer("fine", slow) as server, client(server) as one:
        async with client(server) as other:
            assert (await other.complete(ask())).text == "fine"
            under_way = asyncio.create_task(one.complete(ask()))
            await server.reached(2)
        assert (await under_way).text == "fine"
        assert server.books.requests == 2  # it was not asked again
        assert (await one.complete(ask())).text == "fine"
    async with FaultServer("again") as server, client(server) as later:
        assert (await later.complete(ask())).text == "again"
