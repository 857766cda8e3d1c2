"""A model call: the request, the reply, and the name of the weights that gave it."""

from enum import StrEnum
from typing import Literal

from evener.protocols.digest import JsonObject, Wire, digest
from evener.protocols.message import Call, Message


class ModelRef(Wire):
    """Which weights: the base model, an adapter version or none, and a digest over both."""

    base: str
    adapter: str | None = None
    revision: str

    def __str__(self) -> str:
        """`base`, or `base+adapter`."""
        return f"{self.base}+{self.adapter}" if self.adapter else self.base


class ToolSpec(Wire):
    """A tool as a model is told of it: `parameters` is a JSON Schema of type object."""

    name: str
    description: str = ""
    parameters: JsonObject = {}


class Sampling(Wire):
    """How to draw a reply. Temperature 0 is greedy. `seed` is the request's own generator."""

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 256
    seed: int = 0
    stop: tuple[str, ...] = ()


class Request(Wire):
    """One completion. `tools` is filled only where the provider takes native tool calls. `answer`
    is the JSON Schema of the answer: a server that keeps to one is told it, others are not, so
    whoever asks still checks what comes back."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    sampling: Sampling = Sampling()
    answer: JsonObject | None = None

    def key(self) -> str:
        """Digest of what the model sees: roles, texts, calls, tools, sampling, the answer's schema.

        Greedy requests that differ in their seed alone have the same key.
        """
        seen = self.sampling.document()
        if self.sampling.temperature == 0:
            seen = seen | {"seed": 0}
        messages = [
            {"role": m.role, "content": m.content, "calls": [c.document() for c in m.calls]}
            for m in self.messages
        ]
        shown = {
            "messages": messages,
            "tools": [t.document() for t in self.tools],
            "sampling": seen,
        }
        if self.answer is not None:
            shown["answer"] = self.answer
        return digest(shown)  # type: ignore[arg-type]


class StopReason(StrEnum):
    """Why the model stopped. `length` means cut: a call in such a reply is never executed."""

    END = "end"
    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    FILTERED = "filtered"


class Usage(Wire):
    """What calls cost. `seconds` is wall-clock time; `cost_usd` is None where unknown, never 0.

    Calls answered from memory, and their tokens, stand apart: they cost nothing, and which they are
    depends on what was asked before. What an episode would cost anew is `made`, `read`, `written`.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_calls: int = 0
    cached_prompt_tokens: int = 0
    cached_completion_tokens: int = 0
    seconds: float = 0.0
    cost_usd: float | None = None

    @property
    def made(self) -> int:
        """Calls, cached ones too."""
        return self.calls + self.cached_calls

    @property
    def read(self) -> int:
        """Prompt tokens of all calls, cached ones too."""
        return self.prompt_tokens + self.cached_prompt_tokens

    @property
    def written(self) -> int:
        """Generated tokens of all calls, cached ones too."""
        return self.completion_tokens + self.cached_completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """Sums; a cost that is unknown on either side stays unknown unless that side is empty."""
        costs = [u.cost_usd for u in (self, other) if u.calls]
        known = [c for c in costs if c is not None]
        return Usage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_calls=self.cached_calls + other.cached_calls,
            cached_prompt_tokens=self.cached_prompt_tokens + other.cached_prompt_tokens,
            cached_completion_tokens=self.cached_completion_tokens + other.cached_completion_tokens,
            seconds=self.seconds + other.seconds,
            cost_usd=sum(known) if known and len(known) == len(costs) else None,
        )


class Reply(Wire):
    """One typed reply at the border of every model.

    `token_ids` (end-of-turn token included) and `mean_logprob` are given by local engines, and by
    servers that tell them. `author`
    is `reviewer` where a reviewer put this response in the place of the student's. `raw` is what a
    provider sent, its own ids among it, without what stands in other fields as figures.
    """

    text: str
    author: Literal["student", "reviewer"] = "student"
    reasoning: str | None = None
    calls: tuple[Call, ...] = ()
    stop_reason: StopReason = StopReason.END
    usage: Usage = Usage(calls=1)
    token_ids: tuple[int, ...] | None = None
    mean_logprob: float | None = None
    model: ModelRef
    raw: JsonObject | None = None
