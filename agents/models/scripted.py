"""A model without weights: it says what it was told to. For tests, examples and dry runs."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from evener.protocols.digest import digest
from evener.protocols.error import InfraError
from evener.protocols.model import ModelRef, Reply, Request, Usage

Answer: TypeAlias = str | Reply
Rule: TypeAlias = Callable[[Request], Answer | Awaitable[Answer]]


class ScriptedModel:
    """Replies in order, or a function of the request; usage is counted in words.

    With a sequence, each call takes the next reply and one call too many is an InfraError. `delay`
    is seconds before each reply. An exception that the function raises reaches the caller.
    """

    def __init__(
        self, script: Iterable[Answer] | Rule, *, name: str = "scripted", delay: float = 0.0
    ) -> None:
        self._rule: Rule | None = script if callable(script) else None
        if isinstance(script, str):
            script = [script]
        self._replies: list[Answer] = [] if callable(script) else [*script]
        self._delay = delay
        self._closed = False
        base = f"scripted:{name}"
        self._ref = ModelRef(base=base, revision=digest(base))
        self.requests: list[Request] = []
        """What was asked, in order."""

    @property
    def ref(self) -> ModelRef:
        """`scripted:<name>`; equal names are equal models."""
        return self._ref

    async def complete(self, request: Request) -> Reply:
        """The next scripted reply. InfraError when the script is over or the model closed."""
        if self._closed:
            raise InfraError(f"{self._ref} is closed", kind="closed")
        number = len(self.requests)
        self.requests.append(request)
        if self._delay:
            await asyncio.sleep(self._delay)
        if self._rule is not None:
            found = self._rule(request)
            answer = await found if inspect.isawaitable(found) else found
        elif number < len(self._replies):
            answer = self._replies[number]
        else:
            raise InfraError(
                f"{self._ref} has {len(self._replies)} replies and was asked {number + 1} times",
                kind="script_over",
            )
        return answer if isinstance(answer, Reply) else self._reply(request, answer)

    async def close(self) -> None:
        """Later requests fail with InfraError."""
        self._closed = True

    def _reply(self, request: Request, text: str) -> Reply:
        words = sum(len(message.content.split()) for message in request.messages)
        usage = Usage(
            calls=1,
            prompt_tokens=words,
            completion_tokens=len(text.split()),
            seconds=self._delay,
            cost_usd=0.0,
        )
        return Reply(text=text, usage=usage, model=self._ref)
