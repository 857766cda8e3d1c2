"""What an agent is given to sit inside an episode: a client, a context and a workbench.

Through the context it is shown what the harness shows, and nothing else; through the workbench its
calls come back with what the harness tells. Each of its model calls is one turn of the episode,
whatever loop the agent has around it. An agent that shows its model something else is refused, for
the episode would not be what was recorded.
"""

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from autogen_core import CancellationToken
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelInfo,
    RequestUsage,
)
from autogen_core.tools import TextResultContent, Tool, ToolResult, ToolSchema, Workbench
from pydantic import BaseModel

from evener.agents.agentchat.model import Arguments, client_error, reply_of
from evener.agents.agentchat.translate import theirs, tool_schema
from evener.agents.agentchat.turn import Turn, Turns
from evener.protocols.error import ConfigError, EvenerError
from evener.protocols.model import ModelRef


class SeatContext(ChatCompletionContext):
    """What the harness shows in this turn; what the agent would add is in it already."""

    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self._turns = turns

    async def add_message(self, message: LLMMessage) -> None:
        """Nothing: the harness keeps the messages."""

    async def clear(self) -> None:
        """Nothing."""

    async def get_messages(self) -> list[LLMMessage]:
        """The messages of the turn, once it has begun."""
        return theirs((await self._turns.untaken()).request.messages)


class SeatWorkbench(Workbench):
    """The harness's tools. They are executed by the episode, which tells what came of them."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns

    async def list_tools(self) -> list[ToolSchema]:
        """The tools on offer in this turn."""
        return [tool_schema(tool) for tool in self._turns.at.request.tools]

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
        call_id: str | None = None,
    ) -> ToolResult:
        """What the harness tells of the call. Never raises: an agent would wait for ever."""
        told = await self._turns.told(call_id or "")
        return ToolResult(name=name, result=[TextResultContent(content=told)])

    async def start(self) -> None:
        """Nothing: the session is open."""

    async def stop(self) -> None:
        """Nothing: whoever opened the session closes it."""

    async def reset(self) -> None:
        """Nothing."""

    async def save_state(self) -> Mapping[str, Any]:
        """Nothing."""
        return {}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Nothing."""


class SeatClient(ChatCompletionClient):
    """The user's client; what it answers is the reply of the turn."""

    def __init__(
        self, client: ChatCompletionClient, turns: Turns, *, ref: ModelRef, arguments: Arguments
    ) -> None:
        self._client = client
        self._turns = turns
        self._ref = ref
        self._arguments = arguments

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: Tool | Literal["auto", "required", "none"] = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        """One reply, which is the turn's."""
        turn = await self._taken(messages, tools)
        start = time.monotonic()
        try:
            result = await self._client.create(
                messages,
                tools=tools,
                tool_choice=tool_choice,
                json_output=json_output,
                extra_create_args=self._settings(turn, extra_create_args),
                cancellation_token=cancellation_token,
            )
        except Exception as error:  # noqa: BLE001 - a third party's code
            self._failed(error)
        return self._replied(turn, result, start=start)

    async def create_stream(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: Tool | Literal["auto", "required", "none"] = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> AsyncGenerator[str | CreateResult, None]:
        """The pieces as they come, then the result, which is the turn's reply."""
        turn = await self._taken(messages, tools)
        start = time.monotonic()
        stream = self._client.create_stream(
            messages,
            tools=tools,
            tool_choice=tool_choice,
            json_output=json_output,
            extra_create_args=self._settings(turn, extra_create_args),
            cancellation_token=cancellation_token,
        )
        try:
            async for piece in stream:
                if isinstance(piece, CreateResult):
                    self._replied(turn, piece, start=start)
                yield piece
        except Exception as error:  # noqa: BLE001 - a third party's code
            self._failed(error)

    async def close(self) -> None:
        """Close the user's client."""
        await self._client.close()

    def actual_usage(self) -> RequestUsage:
        """The user's client's."""
        return self._client.actual_usage()

    def total_usage(self) -> RequestUsage:
        """The user's client's."""
        return self._client.total_usage()

    def count_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """The user's client's."""
        return self._client.count_tokens(messages, tools=tools)

    def remaining_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """The user's client's."""
        return self._client.remaining_tokens(messages, tools=tools)

    @property
    def model_info(self) -> ModelInfo:
        """The user's client's."""
        return self._client.model_info

    @property
    def capabilities(self) -> ModelInfo:  # its type there is deprecated
        """The same, under the name that AutoGen gives up."""
        return self._client.model_info

    async def _taken(
        self, messages: Sequence[LLMMessage], tools: Sequence[Tool | ToolSchema]
    ) -> Turn:
        turn = await self._turns.untaken()
        if list(messages) != theirs(turn.request.messages):
            raise ConfigError(
                "it shows its model messages that are not the harness's",
                where="the agent",
                remedy="give it system_message=None, model_context=seat.context and no memory",
            )
        offered = {tool.name for tool in turn.request.tools}
        wrong = sorted({_name(tool) for tool in tools} - offered)
        if wrong:
            raise ConfigError(
                f"it has tools that are not the harness's: {', '.join(wrong)}",
                where="the agent",
                remedy="give it workbench=seat.workbench and no handoffs",
            )
        turn.taken = True
        return turn

    def _settings(self, turn: Turn, more: Mapping[str, Any] | None) -> Mapping[str, Any]:
        return {**self._arguments(turn.request.sampling), **(more or {})}

    def _failed(self, error: Exception) -> NoReturn:
        if isinstance(error, EvenerError):
            raise error
        raise client_error(error, where=self._ref.base) from error

    def _replied(self, turn: Turn, result: CreateResult, *, start: float) -> CreateResult:
        seconds = time.monotonic() - start
        reply = reply_of(result, turn.request, ref=self._ref, seconds=seconds)
        made = () if isinstance(result.content, str) else result.content
        self._turns.reply(turn, reply, calls=tuple(call.id for call in made))
        return result


@dataclass(frozen=True)
class Seat:
    """For the making of one agent: `AssistantAgent("student", seat.client,
    workbench=seat.workbench, model_context=seat.context, system_message=None)`."""

    client: SeatClient
    context: SeatContext
    workbench: SeatWorkbench


def _name(tool: Tool | ToolSchema) -> str:
    return tool.name if isinstance(tool, Tool) else tool["name"]
