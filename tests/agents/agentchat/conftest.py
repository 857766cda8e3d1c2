"""A shop desk under native calls, and students who are told what to say."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import pytest
from autogen_core import CancellationToken
from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
)
from autogen_core.tools import Tool, ToolSchema

from evener.agents.harness.load import parse_yaml
from evener.environments.storefront import Storefront, harness_path
from evener.protocols.harness import Harness

USAGE = RequestUsage(7, 3)


def result(content: Any, finish: Any = "stop", **more: Any) -> CreateResult:
    """What a client of somebody else answers."""
    return CreateResult(
        content=content, finish_reason=finish, usage=USAGE, **{"cached": False, **more}
    )


class Foreign(ChatCompletionClient):
    """A client of somebody else: says what it is told to, raises what it is given, remembers what
    it was asked."""

    def __init__(self, *answers: CreateResult | Exception, delay: float = 0.0) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[list[LLMMessage], list[Any], dict[str, Any]]] = []
        self.closed = False
        self.delay = delay

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: Any = "auto",
        json_output: Any = None,
        extra_create_args: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        self.asked.append((list(messages), list(tools), dict(extra_create_args or {})))
        if self.delay:
            waiting = asyncio.ensure_future(asyncio.sleep(self.delay))
            if cancellation_token is not None:
                cancellation_token.link_future(waiting)
            await waiting
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def create_stream(
        self, messages: Sequence[LLMMessage], **more: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        made = await self.create(messages, **more)
        if isinstance(made.content, str):
            yield made.content
        yield made

    async def close(self) -> None:
        self.closed = True

    def actual_usage(self) -> RequestUsage:
        return USAGE

    def total_usage(self) -> RequestUsage:
        return USAGE

    def count_tokens(self, messages: Any, *, tools: Any = ()) -> int:
        return 1

    def remaining_tokens(self, messages: Any, *, tools: Any = ()) -> int:
        return 1

    @property
    def capabilities(self) -> ModelInfo:
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        return ModelInfo(
            vision=False,
            function_calling=True,
            json_output=False,
            family=ModelFamily.UNKNOWN,
            structured_output=False,
        )


@pytest.fixture
def foreign() -> type[Foreign]:
    return Foreign


@pytest.fixture
def answer() -> Any:
    """Makes a `CreateResult`."""
    return result


@pytest.fixture
def desk() -> Storefront:
    return Storefront()


@pytest.fixture
def native() -> Harness:
    text = harness_path("hand").read_text("utf-8")
    return parse_yaml(text.replace("format: json", "format: native"), where="native.yaml")
