"""Chat messages and tool calls: what a model reads and writes."""

from typing import Literal, TypeAlias

from evener.protocols.digest import JsonObject, Wire

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
Origin: TypeAlias = Literal[
    "prompt", "example", "skill", "memory", "observation", "hook", "student", "reviewer"
]


class Call(Wire):
    """A call of a tool or an action. `id` is minted here, never a provider's."""

    id: str = ""
    name: str
    arguments: JsonObject = {}


class Message(Wire):
    """One chat message. `sampled` says that a model produced `content` in this episode.

    `token_ids` are the sampled tokens, the end-of-turn token included, where the engine gives
    them. Only sampled messages may carry a training loss.
    """

    role: Role
    content: str
    origin: Origin = "prompt"
    sampled: bool = False
    token_ids: tuple[int, ...] | None = None
    calls: tuple[Call, ...] = ()
    call_id: str = ""
