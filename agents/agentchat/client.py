"""Any evener model as a `ChatCompletionClient` of AutoGen: an `AssistantAgent` on it, for example.

The model's own budget, pace and retries apply. What it cannot do is refused with one line and never
left out: images, JSON mode, a forced tool choice, unknown settings.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal

from autogen_core import CancellationToken
from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    FinishReasons,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
)
from autogen_core.tools import Tool, ToolSchema
from pydantic import BaseModel, ValidationError

from evener.agents.agentchat.translate import function_calls, ours, tool_spec
from evener.agents.harness.context import characters
from evener.agents.harness.observation import CHARACTERS_A_TOKEN
from evener.agents.models.remote.connect import connect
from evener.agents.models.remote.settings import RemoteSettings
from evener.protocols.digest import canonical
from evener.protocols.error import ConfigError
from evener.protocols.model import Reply, Request, Sampling, StopReason, ToolSpec
from evener.protocols.port import Model

_FINISH: dict[StopReason, FinishReasons] = {
    StopReason.END: "stop",
    StopReason.STOP: "stop",
    StopReason.LENGTH: "length",
    StopReason.TOOL_CALLS: "function_calls",
    StopReason.FILTERED: "content_filter",
}


class ModelClient(ChatCompletionClient):
    """`model` as a client. `sampling` holds for every call that says nothing else.

    `function_calling` says whether the model takes tools: AgentChat gives tools to no other. It is
    False for the local engine. `window` is how many tokens fit, where the model does not tell.
    """

    def __init__(
        self,
        model: Model,
        *,
        sampling: Sampling | None = None,
        function_calling: bool = True,
        window: int | None = None,
    ) -> None:
        self.model = model
        self._sampling = sampling or Sampling(max_tokens=1024)
        self._window = window
        self._actual = RequestUsage(0, 0)
        self._total = RequestUsage(0, 0)
        self._info = ModelInfo(
            vision=False,
            function_calling=function_calling,
            json_output=False,
            family=ModelFamily.UNKNOWN,
            structured_output=False,
            multiple_system_messages=True,
        )

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
        """One reply. Raises what the model raises; ConfigError for what it cannot do."""
        if json_output:
            raise _refused("json_output")
        if tool_choice not in ("auto", "none"):
            raise _refused("tool_choice other than auto and none")
        request = Request(
            messages=ours(messages),
            tools=_offered(tools) if tool_choice == "auto" else (),
            sampling=self._sampled(extra_create_args or {}),
        )
        asked = asyncio.ensure_future(self.model.complete(request))
        if cancellation_token is not None:
            cancellation_token.link_future(asked)
        reply = await asked
        self._count(reply)
        return _result(reply, before=sum(len(message.calls) for message in request.messages))

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
        """The text in one piece, then the result: a model's reply comes whole."""
        result = await self.create(
            messages,
            tools=tools,
            tool_choice=tool_choice,
            json_output=json_output,
            extra_create_args=extra_create_args,
            cancellation_token=cancellation_token,
        )
        if isinstance(result.content, str) and result.content:
            yield result.content
        yield result

    async def close(self) -> None:
        """Close the model."""
        await self.model.close()

    def actual_usage(self) -> RequestUsage:
        """Tokens of the calls that were made, without those answered from memory."""
        return self._actual

    def total_usage(self) -> RequestUsage:
        """Tokens of all calls."""
        return self._total

    def count_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """An estimate: 4 characters are taken for a token."""
        written = sum(map(characters, ours(messages)))
        written += sum(len(canonical(tool.document())) for tool in _offered(tools))
        return -(-written // CHARACTERS_A_TOKEN)

    def remaining_tokens(
        self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()
    ) -> int:
        """What is left of the window, by the same estimate."""
        window = self._window or getattr(self.model, "window", None)
        if window is None:
            raise ConfigError(
                "how many tokens fit is not known", where="ModelClient", remedy="set window"
            )
        return int(window) - self.count_tokens(messages, tools=tools)

    @property
    def model_info(self) -> ModelInfo:
        """What the model can do."""
        return self._info

    @property
    def capabilities(self) -> ModelInfo:  # its type there is deprecated
        """The same, under the name that AutoGen gives up."""
        return self._info

    def _sampled(self, wanted: Mapping[str, Any]) -> Sampling:
        unknown = sorted(set(wanted) - set(Sampling.model_fields))
        if unknown:
            raise _refused(f"extra_create_args {', '.join(unknown)}")
        stop: Any = wanted.get("stop", self._sampling.stop)
        match stop:
            case str():
                stop = (stop,)
            case None:
                stop = ()
            case [*parts]:
                stop = tuple(parts)
            case _:
                pass
        changed = {**dict(self._sampling), **wanted, "stop": stop}
        try:
            return Sampling.model_validate(changed)
        except ValidationError as error:
            first = error.errors()[0]
            what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            raise ConfigError(what, where="extra_create_args") from None

    def _count(self, reply: Reply) -> None:
        usage = reply.usage
        self._actual = RequestUsage(
            self._actual.prompt_tokens + usage.prompt_tokens,
            self._actual.completion_tokens + usage.completion_tokens,
        )
        self._total = RequestUsage(
            self._total.prompt_tokens + usage.read,
            self._total.completion_tokens + usage.written,
        )


def provider_client(
    model: str,
    *,
    api_base: str | None = None,
    settings: RemoteSettings | None = None,
    sampling: Sampling | None = None,
    function_calling: bool = True,
) -> ModelClient:
    """A client of `provider/name`: OpenAI-compatible servers directly, everything else by litellm.

    Raises ModelError as `connect` does: an unknown provider, a key that is not set.
    """
    return ModelClient(
        connect(model, api_base=api_base, role="agent", settings=settings),
        sampling=sampling,
        function_calling=function_calling,
    )


def _offered(tools: Sequence[Tool | ToolSchema]) -> tuple[ToolSpec, ...]:
    return tuple(tool_spec(tool) for tool in tools)


def _refused(what: str) -> ConfigError:
    return ConfigError(f"evener's models have no {what}", where="ModelClient")


def _result(reply: Reply, *, before: int) -> CreateResult:
    calls = function_calls(reply.calls, first=before)
    thought = (reply.text if calls else reply.reasoning) or None
    finish = _FINISH[reply.stop_reason]
    return CreateResult(
        finish_reason="function_calls" if calls and finish == "stop" else finish,
        content=calls or reply.text,
        usage=RequestUsage(reply.usage.read, reply.usage.written),
        cached=reply.usage.calls == 0 and reply.usage.cached_calls > 0,
        thought=thought,
    )
