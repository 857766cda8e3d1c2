"""Any `ChatCompletionClient` of AutoGen as an evener model: a student, a critic, a reviewer.

The client's own retries are its own. What it raises becomes InfraError, or what the status says
where it carries one: a key that is refused stops the run, a prompt that does not fit ends its
episode.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from autogen_core import CancellationToken
from autogen_core.models import ChatCompletionClient, CreateResult

from evener.agents.agentchat.translate import read_function_calls, theirs, tool_schema
from evener.agents.harness.decode import writable
from evener.agents.models.remote.outcome import plain
from evener.agents.models.remote.payload import sampled
from evener.agents.models.remote.refusal import refusal
from evener.agents.models.remote.tool_call import calls_as_text
from evener.protocols.digest import digest
from evener.protocols.error import EvenerError, InfraError
from evener.protocols.message import Call
from evener.protocols.model import ModelRef, Reply, Request, Sampling, StopReason, Usage

Arguments: TypeAlias = Callable[[Sampling], Mapping[str, Any]]
"""Sampling as a client's `extra_create_args`."""


def openai_arguments(sampling: Sampling) -> Mapping[str, Any]:
    """As clients of the OpenAI protocol name them. The seed is sent where replies are sampled."""
    return sampled(sampling)


class ClientModel:
    """`name` says which weights answer: finished episodes are found again by it.

    `arguments` turns sampling into what the client takes in `extra_create_args`.
    """

    def __init__(
        self,
        client: ChatCompletionClient,
        *,
        name: str,
        arguments: Arguments = openai_arguments,
    ) -> None:
        self.client = client
        self._ref = ModelRef(base=name, revision=digest(f"agentchat:{name}"))
        self._arguments = arguments
        self._asking: set[CancellationToken] = set()
        self._closed = False

    @property
    def ref(self) -> ModelRef:
        """The name that was given."""
        return self._ref

    async def complete(self, request: Request) -> Reply:
        """One reply. Raises InfraError where the client fails."""
        if self._is_closed():
            raise self._over()
        token = CancellationToken()
        self._asking.add(token)
        start = time.monotonic()
        try:
            result = await self.client.create(
                theirs(request.messages),
                tools=[tool_schema(tool) for tool in request.tools],
                extra_create_args=self._arguments(request.sampling),
                cancellation_token=token,
            )
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if self._is_closed() and not (current and current.cancelling()):
                raise self._over() from None
            token.cancel()
            raise
        except EvenerError:
            raise
        except Exception as error:
            raise client_error(error, where=self._ref.base) from error
        finally:
            self._asking.discard(token)
        return reply_of(result, request, ref=self._ref, seconds=time.monotonic() - start)

    async def close(self) -> None:
        """End what is under way with InfraError and close the client."""
        self._closed = True
        for token in tuple(self._asking):
            token.cancel()
        await self.client.close()

    def _is_closed(self) -> bool:
        return self._closed

    def _over(self) -> InfraError:
        return InfraError(f"{self._ref} is closed", kind="closed")


def reply_of(result: CreateResult, request: Request, *, ref: ModelRef, seconds: float) -> Reply:
    """A client's result as a typed reply. A call in a reply that was cut is text, never a call.

    InfraError where a filter withheld it. The cost is unknown.
    """
    if result.finish_reason == "content_filter":
        raise InfraError(f"{ref}: the provider's filter withheld the reply", kind="content_filter")
    cut = result.finish_reason == "length"
    calls: tuple[Call, ...] = ()
    reasoning: str | None = None
    if isinstance(result.content, str):
        text, reasoning = result.content, result.thought
    else:
        before = sum(len(message.calls) for message in request.messages)
        read = read_function_calls(result.content, first=before)
        cut = cut or read.unclosed
        calls = () if cut else read.calls
        left = read.text or (calls_as_text(read.calls) if cut else "")
        text = "\n".join(part for part in (result.thought, left) if part)
    stop = StopReason.TOOL_CALLS if calls else StopReason.END
    return Reply(
        text=writable(text),
        reasoning=writable(reasoning) if reasoning else None,
        calls=calls,
        stop_reason=StopReason.LENGTH if cut else stop,
        usage=_usage(result, seconds=seconds),
        mean_logprob=_mean_logprob(result),
        model=ref,
    )


def client_error(error: Exception, *, where: str) -> EvenerError:
    """What an exception of a third party's client means. Those of most SDKs carry a status."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and 400 <= status < 600:
        return refusal(status, str(error), wall=time.time()).error(where, attempts=1)
    return InfraError(plain(f"{where}: {type(error).__name__}: {error}"), kind="client")


def _usage(result: CreateResult, *, seconds: float) -> Usage:
    read, written = result.usage.prompt_tokens, result.usage.completion_tokens
    if result.cached:
        return Usage(cached_calls=1, cached_prompt_tokens=read, cached_completion_tokens=written)
    return Usage(calls=1, prompt_tokens=read, completion_tokens=written, seconds=seconds)


def _mean_logprob(result: CreateResult) -> float | None:
    found = [token.logprob for token in result.logprobs or ()]
    return sum(found) / len(found) if found else None
