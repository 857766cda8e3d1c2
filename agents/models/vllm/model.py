"""The student on a vLLM server: replies as from every server, adapters beside the base.

Where the server goes in the middle of a reply, that is an InfraError and the next request finds it
started again. Special tokens in what tools and users wrote are defused, as in the local engine and
in training, wherever the tokenizer is at hand.
"""

import asyncio
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Self

from pydantic import JsonValue

from evener.agents.models.remote.model import Journal, RemoteModel
from evener.agents.models.remote.outcome import CallFault
from evener.agents.models.remote.price import Price
from evener.agents.models.remote.settings import RemoteSettings
from evener.agents.models.remote.transport import Listing
from evener.agents.models.vllm.adapters import Adapter, Adapters
from evener.agents.models.vllm.life import LOST, Life, Serving
from evener.agents.models.vllm.preflight import Preflight, refused
from evener.agents.models.vllm.probe import differs
from evener.agents.models.vllm.server import EVENT, ManagedServer
from evener.agents.models.vllm.tokens import Tokens
from evener.protocols.digest import JsonObject
from evener.protocols.error import InfraError, ModelError
from evener.protocols.model import ModelRef, Reply, Request

# else the defaults for sampling are those of the model's own generation_config.json
_PLAIN: JsonObject = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}


class VllmModel(RemoteModel):
    """`name` on the server of `serving`. `folder` holds its weights, where they are known here."""

    def __init__(
        self,
        serving: Serving,
        *,
        name: str,
        ref: ModelRef,
        host: str,
        preflight: Preflight,
        adapters: int,
        tokens: Tokens,
        folder: Path | None = None,
        window: int | None = None,
        role: str = "student",
        settings: RemoteSettings | None = None,
    ) -> None:
        settings = settings or RemoteSettings()
        ours = isinstance(serving, ManagedServer)
        super().__init__(
            Passage(
                serving,
                Price(settings.price_in, settings.price_out),
                always=_PLAIN if ours else None,
            ),
            name=name,
            ref=ref,
            host=host,
            role=role,
            settings=settings,
            extra={"return_token_ids": True},
            schemas=True,
        )
        self.window = window
        self.folder = folder
        self.serving_at = serving
        self.adapters = Adapters(ref, most=adapters, note=self._note)
        self._base = (name, ref)
        self._adapter: Adapter | None = None
        self._preflight = preflight
        self._loading = asyncio.Lock()
        self._tokens = tokens

    def keep(self, folder: Path, journal: Journal) -> None:
        """The log of a server of our own goes into this folder, and what becomes of it into that
        journal. To be said before the first request."""
        if isinstance(self.serving_at, ManagedServer):
            self.serving_at.keep(folder, journal)

    def release(self) -> None:
        """The journal is about to close: nothing more is written into it."""
        self._journal = None
        if isinstance(self.serving_at, ManagedServer):
            self.serving_at.release()

    def speak(self, say: Callable[[str], None]) -> None:
        """Tell a person through `say` how far the server is."""
        if isinstance(self.serving_at, ManagedServer):
            self.serving_at.say = say

    async def check(self) -> tuple[str, ...]:
        """Of a server that runs, what it offers; of one of our own, whether it can be started."""
        await self.serving_at.check()
        if isinstance(self.serving_at, ManagedServer):
            return ()
        await self.serving_at.up()
        return await super().check()

    async def complete(self, request: Request) -> Reply:
        """One reply. Errors as for every model behind an interface; InfraError `server_died` or
        `server_hung` where the server went meanwhile, ModelError where it cannot be had again."""
        if self._is_closed():
            raise self._closed()
        request = await self._tokens.defused(request)
        life = await self.serving_at.up()
        if self._adapter is None:
            return await life.during(super().complete(request))
        async with self.adapters.on(life, self._adapter):
            return await life.during(super().complete(request))

    async def load_adapter(self, name: str, folder: Path) -> ModelRef:
        """Check, load and probe an adapter; loading equal content again gives the same ref.

        ModelError lists what is wrong with it, and is raised too where the server takes it and
        answers as without it.
        """
        await asyncio.to_thread(self._preflight.check, folder)
        adapter = await asyncio.to_thread(Adapter.of, self._base[1], name, folder)
        async with self._loading:
            if self.adapters.find(adapter.ref) is None:
                while not await self._proved(adapter):
                    pass  # the server went and is started again, a number of times
                self.adapters.keep(adapter)
        return adapter.ref

    def use(self, ref: ModelRef) -> Self:
        """A view that answers with `ref`. ModelError where that adapter is not loaded."""
        if ref.revision == self._base[1].revision:
            return self._view(None)
        adapter = self.adapters.find(ref)
        if adapter is None:
            raise ModelError(
                f"{ref} at revision {ref.revision[:12]} is not loaded",
                where=self.host,
                remedy="load the adapter first",
            )
        return self._view(adapter)

    async def close(self) -> None:
        """End what is under way with InfraError, and the server if it is ours."""
        await super().close()
        await self.adapters.close(leave=isinstance(self.serving_at, ManagedServer))
        await self.serving_at.close()

    async def _proved(self, adapter: Adapter) -> bool:
        """Whether it was loaded and changes what is answered; False where the server went. Raises
        ModelError where it changes nothing."""
        life = await self.serving_at.up()
        told = self.settings.model_copy(update={"logprobs": True})
        base, adapted = self._view(None), self._view(adapter)
        base.settings = adapted.settings = told
        try:
            async with self.adapters.on(life, adapter):
                if await differs(base, adapted):
                    return True
        except InfraError as error:
            if error.kind not in LOST:
                raise
            return False
        await self.adapters.drop(life, adapter)
        raise refused(adapter.folder, ["the server answers with it as it does without it"])

    def _view(self, adapter: Adapter | None) -> Self:
        view = copy.copy(self)
        view._name, view._ref = (adapter.name, adapter.ref) if adapter else self._base
        view._adapter = adapter
        return view

    def _note(self, event: str, body: JsonObject) -> None:
        if self._journal is not None:
            self._journal.append(EVENT, {"event": event, **body})


class Passage:
    """The way to whatever server lives now. `always` is what a request does not say itself."""

    def __init__(self, serving: Serving, price: Price, *, always: JsonObject | None = None) -> None:
        self._serving = serving
        self._always = always or {}
        self._price = price

    def price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """By the prices of the settings; None without them."""
        return self._price.of(prompt_tokens, completion_tokens)

    async def send(self, payload: JsonObject) -> JsonValue:
        """The body of the answer."""
        return await self._life().client.send(self._always | payload)

    async def names(self) -> Listing:
        """What the server offers."""
        return await self._life().client.names()

    async def close(self) -> None:
        """The server's life closes its own connections."""

    def _life(self) -> Life:
        life = self._serving.life
        if life is None:
            raise CallFault("unreachable", "there is no server")
        return life
