"""What a hint may look at: a candidate and the visible trajectory, read as the target reads them.

Nothing else of an episode is here, so a hint cannot know an answer, a score or a sandbox.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from evener.agents.harness.parse import first_call, read_text
from evener.agents.harness.runtime import Runtime
from evener.agents.harness.template import numbers
from evener.agents.harness.tool import Resolved
from evener.protocols.digest import canonical
from evener.protocols.event import CallRefused, Parsed, ParseFailed
from evener.protocols.knowledge import Knowledge
from evener.protocols.message import Call, Message
from evener.protocols.wire import ReviewRequest

_RESULT = re.compile(r"</?tool_result>")
_NUMBER = re.compile(r"\s*-?\d+(?:\.\d+)?\s*")


@dataclass(frozen=True)
class Made:
    """A response that was given before, by the student or (`reviewed`) a reviewer: its text, its
    call where it made one that fits the target (`refused` says why not), and what came after it."""

    text: str
    call: Call | None
    refused: str
    told: str
    reviewed: bool = False


@dataclass(frozen=True)
class Seen:
    """A candidate before it is executed, and what came before it."""

    request: ReviewRequest
    knowledge: Knowledge
    target: Runtime

    @property
    def offered(self) -> tuple[str, ...]:
        """The target's tools."""
        return tuple(self.target.toolbox.tools)

    @cached_property
    def reading(self) -> Parsed | ParseFailed:
        """The candidate under the target's protocol."""
        return self._read(self.request.candidate)

    @property
    def written(self) -> Call | None:
        """The candidate's first call as it is written, None where there is none."""
        return first_call(self.reading)

    @cached_property
    def resolved(self) -> Resolved | CallRefused | None:
        """That call held against the target's tools and their schemas."""
        return self._resolve(self.written) if self.written else None

    @property
    def call(self) -> Call | None:
        """The candidate's call where the target could execute it."""
        return self.resolved.call if isinstance(self.resolved, Resolved) else None

    @cached_property
    def made(self) -> tuple[Made, ...]:
        """The responses before, in order."""
        return tuple(self._before())

    @cached_property
    def executed(self) -> tuple[Made, ...]:
        """Those of them that were calls the target executes."""
        return tuple(made for made in self.made if made.call is not None)

    @cached_property
    def last_result(self) -> str | None:
        """What the last call that worked gave."""
        return next((m.told for m in reversed(self.executed) if self.worked(m)), None)

    def worked(self, made: Made) -> bool:
        """Whether a call gave a result: of a tool that gives bare numbers in all of K's examples,
        anything else is an error."""
        if made.call is None:
            return False
        return made.call.name not in self._numeric or _NUMBER.fullmatch(made.told) is not None

    def same(self, made: Made) -> bool:
        """Whether the candidate repeats a response: the same call, or the same words."""
        if self.call is not None and made.call is not None:
            return signature(self.call) == signature(made.call)
        return self.request.candidate.split() == made.text.split()

    @cached_property
    def numbers(self) -> frozenset[float]:
        """The numbers of the task and of what the student was told, without their signs."""
        texts = (self.request.prompt, *(made.told for made in self.made))
        return frozenset(abs(float(found)) for text in texts for found in numbers(text))

    @cached_property
    def _numeric(self) -> frozenset[str]:
        shown: dict[str, bool] = {}
        for guidance in self.knowledge.guidance:
            for example in guidance.examples:
                for turn, after in pairwise(example):
                    if turn.call is not None and after.role == "tool":
                        bare = _NUMBER.fullmatch(after.content or "") is not None
                        shown[turn.call.name] = shown.get(turn.call.name, True) and bare
        return frozenset(name for name, bare in shown.items() if bare)

    def _before(self) -> Iterator[Made]:
        at = [i for i, m in enumerate(self.request.visible) if m.role == "assistant"]
        for here, following in pairwise([*at, len(self.request.visible)]):
            message = self.request.visible[here]
            told = "\n".join(m.content for m in self.request.visible[here + 1 : following])
            told = _RESULT.sub("", told)
            call = self._call_of(message)
            resolved = self._resolve(call) if call else None
            by = message.origin == "reviewer"
            match resolved:
                case Resolved():
                    yield Made(message.content, resolved.call, "", told, by)
                case CallRefused():
                    yield Made(message.content, None, resolved.detail, told, by)
                case None:
                    yield Made(message.content, None, "no call that can be read", told, by)

    def _call_of(self, message: Message) -> Call | None:
        if message.calls:
            return message.calls[0]
        return first_call(self._read(message.content))

    def _read(self, text: str) -> Parsed | ParseFailed:
        return read_text(text, self.target.harness, self.offered)

    def _resolve(self, call: Call) -> Resolved | CallRefused:
        return self.target.toolbox.resolve(call, self.offered, turn=self.request.turn)


def signature(call: Call) -> str:
    """Equal for equal calls, whatever the order of their arguments."""
    return f"{call.name} {canonical(call.arguments)}"
