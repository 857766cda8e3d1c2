"""Messages become token ids in one place, so that training and serving see the same tokens.

The model's own chat template draws the turns. A special token spelled out inside a message is
defused: what a tool or a user wrote can never end a turn or open one.
"""

import threading
from collections.abc import Sequence
from typing import Any

from evener.agents.models.local.library import library
from evener.protocols.digest import JsonObject
from evener.protocols.error import ModelError
from evener.protocols.message import Message
from evener.protocols.model import ToolSpec


class Renderer:
    """A tokenizer with its chat template. Safe to use from several threads."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self._lock = threading.Lock()
        special: list[str] = tokenizer.all_special_tokens
        added: dict[int, Any] = tokenizer.added_tokens_decoder
        spelled = {str(token) for token in added.values() if token.special} | set(special)
        self._special = tuple(sorted((s for s in spelled if len(s) > 1), key=len, reverse=True))
        self._template_error: type[Exception] = library("jinja2").TemplateError

    def turns(self, messages: Sequence[Message], *, native_calls: bool = False) -> list[JsonObject]:
        """The messages as chat templates take them; arguments of calls stay mappings.

        Calls are listed only with `native_calls`: elsewhere their text is in the content already.
        """
        turns: list[JsonObject] = []
        for message in messages:
            turn: JsonObject = {"role": message.role, "content": self.defuse(message.content)}
            if native_calls and message.calls:
                turn["tool_calls"] = [
                    {
                        "type": "function",
                        "id": call.id,
                        "function": {"name": call.name, "arguments": call.arguments},
                    }
                    for call in message.calls
                ]
            turns.append(turn)
        return turns

    def text(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSpec] = (),
        add_generation_prompt: bool = True,
    ) -> str:
        """The conversation as the chat template draws it, special tokens spelled out.

        ModelError where the template refuses the conversation, with the template's own words.
        """
        specs = [{"type": "function", "function": tool.document()} for tool in tools]
        try:
            text: str = self.tokenizer.apply_chat_template(
                self.turns(messages, native_calls=bool(tools)),
                tools=specs or None,
                tokenize=False,
                add_generation_prompt=add_generation_prompt,
            )
        except self._template_error as error:
            roles = ", ".join(message.role for message in messages)
            raise ModelError(
                f"the model's chat template refuses a conversation of {roles}: {error}"
            ) from error
        return text

    def encode(self, text: str) -> list[int]:
        """Token ids of a drawn conversation; nothing is added before or after it."""
        with self._lock:
            ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def places(self, text: str) -> list[tuple[int, int]]:
        """Where each token of `encode(text)` stands in the text, as half-open character ranges.

        ModelError where the tokenizer cannot say.
        """
        try:
            with self._lock:
                found: list[tuple[int, int]] = self.tokenizer(
                    text, add_special_tokens=False, return_offsets_mapping=True
                )["offset_mapping"]
        except NotImplementedError as error:
            raise ModelError(
                "the model's tokenizer cannot say where its tokens stand in a text",
                remedy="use a fast tokenizer (tokenizer.json)",
            ) from error
        return [(int(start), int(end)) for start, end in found]

    def ids(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSpec] = (),
        add_generation_prompt: bool = True,
    ) -> list[int]:
        """Token ids of the conversation: what the model is given, in training and serving."""
        return self.encode(
            self.text(messages, tools=tools, add_generation_prompt=add_generation_prompt)
        )

    def decode(self, ids: Sequence[int]) -> str:
        """The text of sampled ids, special tokens left out and spaces kept as they are."""
        with self._lock:
            text: str = self.tokenizer.decode(
                list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
            )
        return text

    def defuse(self, content: str) -> str:
        """`content` with a space inside every special token it spells out."""
        for token in self._special:
            if token in content:
                content = content.replace(token, f"{token[0]} {token[1:]}")
        return content
