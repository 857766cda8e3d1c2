"""Messages, tools and calls of both sides, one into the other. Nothing is dropped in silence.

Text that stands beside calls is `thought` on AgentChat's side, as its own clients have it. A call
that cannot be read becomes text, all of a message's calls or none.
"""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from autogen_core.tools import ParametersSchema, Tool, ToolSchema

from evener.agents.harness.decode import writable
from evener.agents.models.remote.tool_call import ReadCalls, read_calls
from evener.protocols.digest import canonical
from evener.protocols.error import ConfigError
from evener.protocols.message import Call, Message
from evener.protocols.model import ToolSpec

STUDENT = "student"


def theirs(messages: Sequence[Message]) -> list[LLMMessage]:
    """Messages of an episode as AgentChat has them; results of one reply are one message."""
    made: list[LLMMessage] = []
    names: dict[str, str] = {}
    for message in messages:
        match message.role:
            case "system":
                made.append(SystemMessage(content=message.content))
            case "user":
                made.append(UserMessage(content=message.content, source="user"))
            case "assistant":
                names |= {call.id: call.name for call in message.calls}
                made.append(_reply(message))
            case "tool":
                result = FunctionExecutionResult(
                    content=message.content,
                    name=names.get(message.call_id, ""),
                    call_id=message.call_id,
                    is_error=False,
                )
                if made and isinstance(made[-1], FunctionExecutionResultMessage):
                    made[-1].content.append(result)
                else:
                    made.append(FunctionExecutionResultMessage(content=[result]))
    return made


def ours(messages: Sequence[LLMMessage]) -> tuple[Message, ...]:
    """Messages of AgentChat as an evener model is asked them. ConfigError for an image."""
    return tuple(one for message in messages for one in _ours(message))


def tool_schema(tool: ToolSpec) -> ToolSchema:
    """A tool as AgentChat's clients are told of it."""
    parameters = {"type": "object", "properties": {}, **tool.parameters}
    return ToolSchema(
        name=tool.name,
        description=tool.description,
        parameters=cast(ParametersSchema, parameters),
    )


def tool_spec(tool: Tool | ToolSchema) -> ToolSpec:
    """A tool of AgentChat as an evener model is told of it."""
    schema: dict[str, Any] = dict(tool.schema if isinstance(tool, Tool) else tool)
    return ToolSpec(
        name=schema["name"],
        description=schema.get("description", ""),
        parameters=schema.get("parameters", {}),
    )


def function_calls(calls: Sequence[Call], *, first: int) -> list[FunctionCall]:
    """Calls as AgentChat has them; those without an id are numbered on from `first`."""
    return [
        FunctionCall(
            id=call.id or f"call_{first + index}",
            name=call.name,
            arguments=canonical(call.arguments),
        )
        for index, call in enumerate(calls)
    ]


def read_function_calls(calls: Sequence[FunctionCall], *, first: int) -> ReadCalls:
    """Calls of AgentChat as ours, under our own ids; all as text where one is unreadable."""
    return read_calls(
        [{"function": {"name": writable(c.name), "arguments": c.arguments}} for c in calls],
        first=first,
    )


def _reply(message: Message) -> AssistantMessage:
    if not message.calls:
        return AssistantMessage(content=message.content, source=STUDENT)
    return AssistantMessage(
        content=function_calls(message.calls, first=0),
        thought=message.content or None,
        source=STUDENT,
    )


def _ours(message: LLMMessage) -> Iterator[Message]:
    match message:
        case SystemMessage():
            yield Message(role="system", content=message.content)
        case UserMessage():
            yield Message(role="user", content=_words(message.content))
        case AssistantMessage():
            yield _assistant(message)
        case FunctionExecutionResultMessage():
            for result in message.content:
                yield Message(
                    role="tool",
                    content=result.content,
                    origin="observation",
                    call_id=result.call_id,
                )


def _assistant(message: AssistantMessage) -> Message:
    if isinstance(message.content, str):
        return Message(role="assistant", content=message.content)
    read = read_function_calls(message.content, first=0)
    calls = tuple(
        call.model_copy(update={"id": written.id})
        for call, written in zip(read.calls, message.content, strict=False)
    )
    text = "\n".join(part for part in (message.thought, read.text) if part)
    return Message(role="assistant", content=text, calls=calls)


def _words(content: str | list[Any]) -> str:
    if isinstance(content, str):
        return content
    if any(not isinstance(part, str) for part in content):
        raise ConfigError(
            "a message holds an image, and evener's models read text",
            where="ModelClient",
            remedy="send text alone",
        )
    return "\n".join(content)
