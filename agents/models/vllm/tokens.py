"""The tokenizer of a served model: what is sent is defused, and the server held to its tokens."""

import asyncio
from pathlib import Path

from evener.agents.models.local.render import Renderer
from evener.agents.models.local.weights import load_tokenizer
from evener.agents.models.vllm.life import Life
from evener.protocols.error import ModelError
from evener.protocols.message import Message
from evener.protocols.model import Request

_SAID = "What are 2 and 3?\n\nSay it briefly."


class Tokens:
    """The tokenizer in `folder`, read when it is first needed; without a folder there is none."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._reading: asyncio.Task[Renderer] | None = None

    async def defused(self, request: Request) -> Request:
        """The request, its messages without special tokens in their texts, where they are known."""
        if self._folder is None:
            return request
        renderer = await self._renderer(self._folder)
        messages = tuple(
            message.model_copy(update={"content": renderer.defuse(message.content)})
            for message in request.messages
        )
        return request.model_copy(update={"messages": messages})

    async def prove(self, life: Life, name: str) -> None:
        """The server makes the same tokens of a conversation as training does, or ModelError."""
        if self._folder is None:
            return
        theirs = await life.admin.prompt_ids(name, _SAID)
        if theirs is None:
            return
        renderer = await self._renderer(self._folder)
        ours = tuple(renderer.ids((Message(role="user", content=_SAID),)))
        if theirs != ours:
            raise ModelError(
                f"vLLM makes other tokens of a conversation than training does ({len(theirs)} and "
                f"{len(ours)})",
                where=str(self._folder),
                remedy="see that tokenizer and chat template are the folder's own",
            )

    async def _renderer(self, folder: Path) -> Renderer:
        if self._reading is None:
            self._reading = asyncio.create_task(asyncio.to_thread(_read, folder))
        return await asyncio.shield(self._reading)


def _read(folder: Path) -> Renderer:
    return Renderer(load_tokenizer(folder))
