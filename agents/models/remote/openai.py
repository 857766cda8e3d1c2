"""A lean client of OpenAI-compatible servers, vLLM most of all: one aiohttp session, nothing else.

It sends one request and reads one answer. Time is always bounded, and connections are closed when
the model is.
"""

import json
import ssl
from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from evener.agents.models.remote.address import Address
from evener.agents.models.remote.clock import Clock
from evener.agents.models.remote.extra import extra
from evener.agents.models.remote.key import Key, wrong_key
from evener.agents.models.remote.model import RemoteModel
from evener.agents.models.remote.outcome import CallFault
from evener.agents.models.remote.pace import Pace
from evener.agents.models.remote.price import Price
from evener.agents.models.remote.refusal import error_of, refusal
from evener.agents.models.remote.settings import RemoteSettings, Timeouts
from evener.agents.models.remote.stream import Merged, event_of
from evener.agents.models.remote.transport import Listing
from evener.protocols.digest import JsonObject
from evener.protocols.model import ModelRef

if TYPE_CHECKING:
    import aiohttp


class OpenAIModel(RemoteModel):
    """`name` at an OpenAI-compatible server at `api_base`, with or without `/v1`.

    `vllm` ones are asked for the sampled tokens, and keep to the schema of an answer. `key` names
    the variable that holds the key, if the server wants one.
    """

    def __init__(
        self,
        name: str,
        api_base: str,
        *,
        provider: str = "openai",
        key: str = "",
        vllm: bool = False,
        ref: ModelRef | None = None,
        role: str = "student",
        settings: RemoteSettings | None = None,
        pace: Pace | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        settings = settings or RemoteSettings()
        address = Address.of(api_base)
        made = ref or ModelRef(
            base=f"{provider}/{name}", revision=f"{provider}/{name}@{address.host}"
        )
        super().__init__(
            Server(
                address,
                key=Key(settings.api_key_env or key),
                timeouts=settings.timeouts,
                price=Price(settings.price_in, settings.price_out),
                clock=clock,
            ),
            name=name,
            ref=made,
            host=address.host,
            role=role,
            settings=settings,
            pace=pace,
            clock=clock,
            random=random,
            extra={"return_token_ids": True} if vllm else None,
            schemas=vllm,
        )


class Server:
    """One address and one session, which opens with the first request."""

    def __init__(
        self,
        address: Address,
        *,
        key: Key,
        timeouts: Timeouts,
        price: Price,
        clock: Clock | None = None,
    ) -> None:
        self._address = address
        self._key = key
        self._timeouts = timeouts
        self._price = price
        self._clock = clock or Clock()
        self._aiohttp: Any = extra("aiohttp")
        self._session: aiohttp.ClientSession | None = None

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """By the prices of the settings; None without them."""
        return self._price.of(prompt_tokens, completion_tokens)

    async def send(self, payload: JsonObject) -> JsonValue:
        """The body of the answer, put together from its pieces where it streams."""
        return await self._ask("POST", self._address.completions, payload)

    async def names(self) -> Listing:
        """What `/models` lists; vLLM tells windows as well."""
        body = await self._ask("GET", self._address.models, None)
        data = body.get("data") if isinstance(body, dict) else None
        windows: dict[str, int | None] = {}
        for item in data if isinstance(data, list) else ():
            if isinstance(item, dict) and isinstance(item.get("id"), str):
                window = item.get("max_model_len")
                windows[str(item["id"])] = window if isinstance(window, int) else None
        return Listing(windows)

    async def close(self) -> None:
        """Close the session and wait until its connections are gone."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _ask(self, method: str, url: str, payload: JsonObject | None) -> JsonValue:
        http = self._aiohttp
        value = self._key.value()
        headers = {"Authorization": f"Bearer {value}"} if value else {}
        try:
            async with self._opened().request(
                method, url, json=payload, headers=headers, allow_redirects=False
            ) as answer:
                if answer.status != 200:
                    said = self._key.hide(await answer.text())
                    raise self._refused(answer.status, said, answer.headers, url)
                if "text/event-stream" in answer.headers.get("Content-Type", ""):
                    return await self._streamed(answer)
                return self._body(self._key.hide(await answer.text()))
        except http.ClientConnectorCertificateError as error:
            raise self._untrusted(str(error.certificate_error)) from None
        except http.ClientConnectorSSLError as error:
            raise self._untrusted(str(error)) from None
        except TimeoutError:
            raise CallFault("timeout", "no answer in time") from None
        except http.ClientConnectorError as error:
            raise CallFault("unreachable", f"no connection: {error.os_error}") from None
        except (http.ClientPayloadError, http.ServerDisconnectedError) as error:
            raise CallFault("cut", f"the answer was cut: {error}") from None
        except UnicodeDecodeError:
            raise CallFault("malformed", "the answer is no text") from None
        except (http.ClientError, OSError) as error:
            raise CallFault("unreachable", f"{type(error).__name__}: {error}") from None

    async def _streamed(self, answer: "aiohttp.ClientResponse") -> JsonValue:
        merged = Merged()
        try:
            async for line in answer.content:
                event = event_of(self._key.hide(line.decode()))
                if event is not None:
                    merged.add(event)
        except ValueError as error:  # a line longer than the buffer
            raise CallFault("malformed", f"the stream cannot be read: {error}") from None
        return merged.whole()

    def _body(self, text: str) -> JsonValue:
        try:
            body: JsonValue = json.loads(text)
        except (ValueError, RecursionError):
            raise CallFault("malformed", f"the answer is no JSON: {text[:80]}") from None
        return body

    def _refused(self, status: int, text: str, headers: Mapping[str, str], url: str) -> CallFault:
        try:
            body: JsonValue = json.loads(text)
        except (ValueError, RecursionError):
            body = text
        said, code, _ = error_of(body)
        if status == 404:
            said = f"{url} was not found: {said}"
        fault = refusal(
            status,
            said,
            code=code,
            headers={key.lower(): value for key, value in headers.items()},
            wall=self._clock.wall(),
        )
        if fault.kind == "unauthorized":
            fault.remedy = wrong_key(self._key.variable)
        return fault

    def _untrusted(self, said: str) -> CallFault:
        return CallFault(
            "certificate",
            f"the certificate is not trusted: {said}",
            remedy="let SSL_CERT_FILE name the certificate or its authority",
        )

    def _opened(self) -> "aiohttp.ClientSession":
        if self._session is None:
            times = self._timeouts
            self._session = self._aiohttp.ClientSession(
                connector=self._aiohttp.TCPConnector(limit=0, ssl=ssl.create_default_context()),
                timeout=self._aiohttp.ClientTimeout(
                    total=times.total_s,
                    connect=times.connect_s,
                    sock_connect=times.connect_s,
                    sock_read=times.read_s,
                ),
                # a proxy and its settings are for other machines
                trust_env=not self._address.local,
                read_bufsize=1 << 20,
            )
        assert self._session is not None
        return self._session
