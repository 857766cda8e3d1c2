"""Transformers in this process, behind the `Model` port: an asyncio front and one worker thread.

A reply is a function of (request, seed, model) in float32, whatever else is in the batch.
`Usage.seconds` is a request's share of the worker's time, so that sums are machine time.
"""

import asyncio
import os
import threading
from collections.abc import Sequence
from pathlib import Path

from evener.agents.models.local.adapter import Adapters
from evener.agents.models.local.batch import Batch
from evener.agents.models.local.folder import check_folder
from evener.agents.models.local.job import Job, Loading
from evener.agents.models.local.library import library
from evener.agents.models.local.prefix import PrefixCache
from evener.agents.models.local.render import Renderer
from evener.agents.models.local.revision import model_revision
from evener.agents.models.local.weights import Dtype, Weights, load_tokenizer, resolve_dtype
from evener.agents.models.local.worker import Desk, Worker
from evener.protocols.digest import digest
from evener.protocols.error import ModelError
from evener.protocols.message import Message
from evener.protocols.model import ModelRef, Reply, Request, ToolSpec

_KV_BYTES = 2 << 30
_PREFIX_BYTES = 768 << 20
_LOOKAHEAD = 2


class LocalEngine:
    """A folder's model. Constructing it is cheap; the first request loads the weights.

    `dtype` "float32" is the one whose figures count; "auto" takes bfloat16 where the hardware
    computes in it. `threads` None means half of the cores, at most 8. `prefix_tokens` bounds the
    shared-prefix cache, 0 switches it off; so does `lookahead`, the guessed tokens of a reply that
    are checked in one step.
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str | None = None,
        dtype: Dtype = "float32",
        threads: int | None = None,
        max_batch: int = 32,
        kv_bytes: int = _KV_BYTES,
        prefix_tokens: int | None = None,
        lookahead: int = _LOOKAHEAD,
        device: str = "cpu",
    ) -> None:
        check_folder(folder)
        self._folder = folder.resolve()
        self._dtype: Dtype = resolve_dtype(dtype, device=device)
        self._device = device
        self._threads = threads if threads is not None else default_threads()
        self._max_batch = max_batch
        self._kv_bytes = kv_bytes
        self._prefix_tokens = prefix_tokens
        self._lookahead = lookahead
        content = {"files": model_revision(self._folder), "dtype": self._dtype}
        self._ref = ModelRef(base=name or model_name(self._folder), revision=digest({**content}))
        self._refs = {self._ref.revision}
        self._lock = threading.Lock()
        self._renderer: Renderer | None = None
        self._worker = Worker(self._open_desk, max_batch=max_batch)

    @property
    def ref(self) -> ModelRef:
        """The base model, adapters off."""
        return self._ref

    @property
    def folder(self) -> Path:
        """Where the base model lies."""
        return self._folder

    @property
    def renderer(self) -> Renderer:
        """How messages become tokens here; training uses the same one."""
        with self._lock:
            if self._renderer is None:
                self._renderer = Renderer(load_tokenizer(self._folder))
            return self._renderer

    def render(self, messages: Sequence[Message], *, tools: Sequence[ToolSpec] = ()) -> list[int]:
        """Token ids of the prompt that `complete` gives the model for these messages."""
        return self.renderer.ids(messages, tools=tools)

    async def complete(self, request: Request) -> Reply:
        """One reply of the base model.

        Raises ContextExceeded where the prompt fills the window, ConfigError on sampling values
        that make no sense, ModelError on a model that cannot be loaded or a conversation its
        template refuses, InfraError where the engine fails or is closed.
        """
        return await self.answer(request, self._ref)

    async def answer(self, request: Request, ref: ModelRef) -> Reply:
        """One reply of `ref`; errors as for `complete`. Cancelling frees the row."""
        job = Job(request=request, ref=ref)
        self._worker.hand_over(job)
        return await asyncio.wrap_future(job.reply)

    async def load_adapter(self, name: str, folder: Path) -> ModelRef:
        """Check and load a LoRA adapter; the base stays loaded once.

        ModelError lists everything that is wrong with the adapter.
        """
        loading = Loading(name=name, folder=folder)
        self._worker.hand_over(loading)
        ref = await asyncio.wrap_future(loading.loaded)
        self._refs.add(ref.revision)
        return ref

    def use(self, ref: ModelRef) -> "LocalModel":
        """A view that answers with `ref`. ModelError where that adapter is not loaded."""
        if ref.revision not in self._refs:
            raise ModelError(
                f"{ref} at revision {ref.revision[:12]} is not loaded",
                where=str(self._folder),
                remedy="load the adapter first",
            )
        return LocalModel(self, ref)

    async def close(self) -> None:
        """End the worker and give back its memory; pending requests fail with InfraError."""
        await asyncio.to_thread(self._worker.close)

    def _open_desk(self) -> Desk:
        """Load the model; called in the worker's thread."""
        library("torch").set_num_threads(self._threads)
        renderer = self.renderer
        weights = Weights(self._folder, renderer.tokenizer, dtype=self._dtype, device=self._device)
        tokens = self._prefix_tokens
        if tokens is None:
            tokens = _PREFIX_BYTES // weights.geometry.bytes_per_token
        batch = Batch(
            weights,
            renderer,
            max_rows=self._max_batch,
            kv_bytes=self._kv_bytes,
            prefix=PrefixCache(tokens),
            lookahead=self._lookahead,
        )
        names = (self._ref.base, str(self._folder), self._folder.name)
        adapters = Adapters(weights, self._ref, base_names=names)
        return Desk(batch, adapters, renderer, window=weights.window)


class LocalModel:
    """An engine bound to one ref. Closing it closes nothing: the engine is shared."""

    def __init__(self, engine: LocalEngine, ref: ModelRef) -> None:
        self._engine = engine
        self._ref = ref

    @property
    def ref(self) -> ModelRef:
        """Which weights answer."""
        return self._ref

    async def complete(self, request: Request) -> Reply:
        """One reply; errors as for the engine."""
        return await self._engine.answer(request, self._ref)

    async def close(self) -> None:
        """Nothing to give back."""


def default_threads() -> int:
    """Half of the cores this process may use, at least 1 and at most 8.

    More threads cost more CPU seconds for a token, and two busy threads on two shared cores wait
    for each other for seconds.
    """
    cores = len(os.sched_getaffinity(0))
    return max(1, min(8, cores // 2))


def model_name(folder: Path) -> str:
    """A folder's name; for a snapshot in the hub's cache, `owner/name`."""
    for part in folder.parts:
        if part.startswith("models--"):
            return part.removeprefix("models--").replace("--", "/")
    return folder.name
