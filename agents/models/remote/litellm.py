"""Any provider that litellm knows, by `provider/name`. Its own retries are off.

Replies and errors are turned into the shapes of the one border here, and nothing of litellm goes
further. The library is loaded when the first model is made: it takes seconds.
"""

import asyncio
import contextlib
import logging
import re
import warnings
from collections.abc import Mapping
from difflib import get_close_matches
from random import Random
from typing import Any, Self
from weakref import WeakSet

from pydantic import JsonValue

from evener.agents.models.remote.address import Address
from evener.agents.models.remote.clock import Clock
from evener.agents.models.remote.extra import extra
from evener.agents.models.remote.key import Key, wrong_key
from evener.agents.models.remote.model import RemoteModel
from evener.agents.models.remote.outcome import CallFault
from evener.agents.models.remote.pace import Pace
from evener.agents.models.remote.price import Price
from evener.agents.models.remote.provider import PROVIDERS
from evener.agents.models.remote.refusal import refusal
from evener.agents.models.remote.settings import RemoteSettings
from evener.agents.models.remote.stream import Merged
from evener.agents.models.remote.transport import Listing
from evener.protocols.digest import JsonObject
from evener.protocols.error import ModelError
from evener.protocols.model import ModelRef

_PREFIX = re.compile(
    r"^(?:(?:litellm\.)?\w+(?:Error|Timeout): )*(?:\w+Exception - )?(?:Error code: \d+ - )?"
)
_UNREADABLE = re.compile(
    r"^Invalid (response object|control character)|^Empty or invalid response|^Expecting "
)


class LiteLLMModel(RemoteModel):
    """`spec` is `provider/name`; `api_base` another address than the provider's own.

    ModelError where the provider is unknown (with the nearest names), or a variable that it needs
    is not set: before any call.
    """

    def __init__(
        self,
        spec: str,
        *,
        api_base: str | None = None,
        ref: ModelRef | None = None,
        role: str = "student",
        settings: RemoteSettings | None = None,
        pace: Pace | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        settings = settings or RemoteSettings()
        provider, _, name = spec.partition("/")
        address = Address.of(api_base) if api_base else None
        host = address.host if address else provider
        library = quiet()
        _known(library, spec)
        if settings.api_key_env:
            Key(settings.api_key_env).require(spec)
        elif address is None:
            _keys(library, spec)
        super().__init__(
            Provider(library, spec, address=address, settings=settings, clock=clock),
            name=spec,
            ref=ref or ModelRef(base=spec, revision=f"{provider}/{name}@{host}"),
            host=host,
            role=role,
            settings=settings,
            pace=pace,
            clock=clock,
            random=random,
            schemas=bool(library.supports_response_schema(model=spec)),
        )

    def serving(self, name: str, ref: ModelRef) -> Self:
        """A view on another model of the same provider, with or without the provider's name before
        its own."""
        provider = self._name.partition("/")[0]
        return super().serving(
            name if name.startswith(f"{provider}/") else f"{provider}/{name}", ref
        )


class Provider:
    """litellm, asked once at a time."""

    def __init__(
        self,
        library: Any,
        spec: str,
        *,
        address: Address | None,
        settings: RemoteSettings,
        clock: Clock | None = None,
    ) -> None:
        self._library = library
        self._spec = spec
        self._address = address
        self._key = Key(settings.api_key_env or "")
        self._times = settings.timeouts
        self._price = Price(settings.price_in, settings.price_out)
        self._clock = clock or Clock()
        _OPEN.add(self)

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """The user's price; else the one that the library knows of the provider's own service. A
        price of 0 in its list says that nobody entered one."""
        if self._price.known or self._address is not None:
            return self._price.of(prompt_tokens, completion_tokens)
        try:
            costs = self._library.cost_per_token(
                model=self._spec,
                prompt_tokens=prompt_tokens,
                completion_tokens=completion_tokens,
            )
            usd = float(sum(costs))
        except Exception:  # noqa: BLE001 - it raises plain Exception for a model it has no price of
            return None
        return usd if usd > 0 or prompt_tokens + completion_tokens == 0 else None

    async def send(self, payload: JsonObject) -> JsonValue:
        """The body in the shape of an OpenAI chat completion."""
        times = self._times
        try:
            # not every provider of the library keeps to its own timeout
            async with asyncio.timeout(times.total_s):
                answer = await self._library.acompletion(
                    **payload, **self._options(), timeout=min(times.read_s, times.total_s)
                )
                if not payload.get("stream"):
                    return _plain(answer)
                return await self._streamed(answer)
        except CallFault:
            raise
        except TimeoutError:
            raise CallFault("timeout", "no answer in time") from None
        except Exception as error:  # noqa: BLE001 - a third party's; each becomes a named fault
            raise self._fault(error) from None

    async def names(self) -> Listing:
        """The names that the library lists for the provider, and the window that it knows of this
        one at the provider's own service."""
        provider, _, _ = self._spec.partition("/")
        known: dict[str, Any] = self._library.models_by_provider
        windows: dict[str, int | None] = dict.fromkeys(map(str, known.get(provider) or ()))
        window = self._window() if self._address is None else None
        return Listing(windows | ({} if window is None else {self._spec: window}))

    def _window(self) -> int | None:
        costs: dict[str, Any] = self._library.model_cost
        names = (self._spec, self._spec.partition("/")[2])
        entry: dict[str, Any] = costs.get(names[0]) or costs.get(names[1]) or {}
        window = entry.get("max_input_tokens") or entry.get("max_tokens")
        return window if isinstance(window, int) else None

    async def close(self) -> None:
        """Close the connections that the library keeps for all of its providers, once nobody here
        uses them any more."""
        _OPEN.discard(self)
        if not _OPEN:
            await self._library.close_litellm_async_clients()
            # it would go on with what is closed
            self._library.in_memory_llm_clients_cache.flush_cache()

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"num_retries": 0, "max_retries": 0, "drop_params": True}
        if self._address is not None:
            options["api_base"] = self._address.base
            # the user's key of the provider is not for another server
            options["api_key"] = self._key.value() or "none"
        elif self._key.variable:
            options["api_key"] = self._key.value()
        return options

    async def _streamed(self, pieces: Any) -> JsonValue:
        merged = Merged()
        async with contextlib.aclosing(pieces):
            async for piece in pieces:
                event = _plain(piece)
                if isinstance(event, dict):
                    merged.add(event)
        body = merged.whole()
        if pieces.received_finish_reason is None:
            # the library makes one up where the stream ends without
            raise CallFault("cut", "the stream ended without saying why")
        return body

    def _fault(self, error: Exception) -> CallFault:
        name, said = type(error).__name__, self._hide(_said(error))
        status = getattr(error, "status_code", None)
        headers = _headers(error)
        if name == "ContextWindowExceededError":
            return refusal(400, f"context length: {said}", headers=headers, wall=self._wall())
        if name == "ContentPolicyViolationError":
            return CallFault("content_filter", said, status=400)
        if name in ("Timeout", "APITimeoutError"):
            return CallFault("timeout", "no answer in time")
        if _certificate(error):
            return CallFault(
                "certificate",
                "the certificate is not trusted",
                remedy="let SSL_CERT_FILE name the certificate or its authority",
            )
        if name in ("APIConnectionError", "MidStreamFallbackError", "RemoteProtocolError"):
            cut = "ended before" in said or "peer closed" in said or name.startswith("MidStream")
            return CallFault("cut" if cut else "unreachable", said)
        if not headers:
            made_up = _made_up(status, said)
            if made_up is not None:
                return made_up
        if isinstance(status, int) and 400 <= status < 600:
            fault = refusal(status, said, headers=headers, wall=self._wall())
            if fault.kind == "unauthorized":
                fault.remedy = wrong_key(self._key.variable or self._own_key())
            return fault
        return CallFault("malformed", f"{name}: {said}")

    def _hide(self, text: str) -> str:
        """The text without any key that may have been sent."""
        known = PROVIDERS.get(self._spec.partition("/")[0])
        for name in (self._key.variable, *((known.key, *known.others) if known else ())):
            text = Key(name).hide(text)
        return text

    def _own_key(self) -> str:
        """The variable of the provider's key; none for another server than the provider's."""
        known = PROVIDERS.get(self._spec.partition("/")[0])
        return known.key if known and self._address is None else ""

    def _wall(self) -> float:
        return self._clock.wall()


_OPEN: WeakSet[Provider] = WeakSet()
"""Those that may still send: the library has one set of connections for them all."""


def quiet() -> Any:
    """litellm with nothing printed and nothing sent but what is asked for."""
    library = extra("litellm")
    library.suppress_debug_info = True
    library.telemetry = False
    library.turn_off_message_logging = True
    # pydantic's remarks on how the library uses it are nobody's business here
    warnings.filterwarnings("ignore", "Items? .* on TypedDict class", UserWarning)
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"litellm\.")
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return library


def _known(library: Any, spec: str) -> None:
    provider, _, name = spec.partition("/")
    names = sorted({str(getattr(p, "value", p)) for p in library.provider_list})
    if provider in names and name:
        return
    near = get_close_matches(provider, names, n=3, cutoff=0.5)
    shown = ", ".join(near or ["openai", "anthropic", "ollama", "hosted_vllm"])
    what = f"no provider {provider!r}" if name else f"{spec!r} is no provider/name"
    raise ModelError(what, where=spec, remedy=f"nearest names: {shown}")


def _keys(library: Any, spec: str) -> None:
    known = PROVIDERS.get(spec.partition("/")[0])
    if known is not None:
        known.require(spec)
        return
    found = library.validate_environment(spec)
    missing = [str(name) for name in found.get("missing_keys") or ()]
    if not found.get("keys_in_environment") and missing:
        raise ModelError(
            "the key is missing", where=spec, remedy=f"set the variable {' and '.join(missing)}"
        )


def _plain(answer: Any) -> JsonValue:
    body: JsonValue = answer.model_dump(mode="json")
    return body


def _said(error: Exception) -> str:
    text = str(getattr(error, "message", "") or error)
    return _PREFIX.sub("", text).strip()


def _made_up(status: object, said: str) -> CallFault | None:
    """The fault where the status is the library's own invention, for want of one from a server."""
    if said.startswith("Connection error"):
        return CallFault("unreachable", said)
    if _UNREADABLE.search(said):
        return CallFault("malformed", said.partition("Traceback")[0])
    return CallFault("provider_error", said) if status == 422 else None


def _headers(error: Exception) -> Mapping[str, str]:
    own = getattr(error, "litellm_response_headers", None)
    found: Any = own or getattr(getattr(error, "response", None), "headers", None)
    return {str(key).lower(): str(found[key]) for key in found} if found else {}


def _certificate(error: BaseException | None) -> bool:
    depth = 0
    while error is not None and depth < 10:
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return True
        error, depth = error.__cause__ or error.__context__, depth + 1
    return False
