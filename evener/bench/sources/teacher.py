"""A teacher: it knows the right solution and words it, one call a turn, as the student would.

It stands on the bus in the place of a model. A control; no user has such a teacher.
"""

from collections.abc import Sequence

from evener.agents.harness.render import call_text
from evener.agents.harness.runtime import prepare
from evener.bench.sources.gold import Gold
from evener.bench.sources.speaker import Speaker
from evener.protocols.digest import canonical, digest
from evener.protocols.error import DataError
from evener.protocols.harness import Harness
from evener.protocols.message import Call
from evener.protocols.model import ModelRef, Reply, Request, Usage


class Teacher:
    """Acts under `harness` as `speaker` says the plans of `gold` in its tools.

    It reads of a request which task it is and what it has said itself; after the last call of its
    plan it says that one again.
    """

    def __init__(self, gold: Gold, speaker: Speaker, harness: Harness) -> None:
        runtime = prepare(harness)
        self._harness = harness
        self._speaker = speaker
        self._asked = {
            runtime.opening(prompt, notes=runtime.recalled(prompt)).messages[-1].content: prompt
            for prompt in gold.tasks
        }
        revision = digest({"teacher": gold.digest, "harness": runtime.digest})
        self._ref = ModelRef(base="gold", revision=revision)

    @property
    def ref(self) -> ModelRef:
        """`gold`, over all its plans and the harness that it acts under."""
        return self._ref

    async def complete(self, request: Request) -> Reply:
        """The next call of the plan. Raises DataError for a task that was not drawn."""
        asked = [m.content for m in request.messages if m.role == "user" and m.origin == "prompt"]
        prompt = next((self._asked[text] for text in reversed(asked) if text in self._asked), None)
        if prompt is None:
            raise DataError("a teacher was asked for a task that it was not given")
        calls = await self._speaker.calls(prompt)
        written = [_key(self._written(call), [call]) for call in calls]
        before = [_key(m.content, m.calls) for m in request.messages if m.sampled]
        call = calls[min(_place(written, before), len(calls) - 1)]
        native = self._harness.middleware.protocol.format == "native"
        return Reply(
            text=self._written(call),
            calls=(call,) if native else (),
            usage=Usage(),
            model=self._ref,
        )

    async def close(self) -> None:
        """Nothing to give back."""

    def _written(self, call: Call) -> str:
        return call_text(self._harness, call.name, call.arguments)


def _place(written: Sequence[str], before: Sequence[str]) -> int:
    """How many calls of the plan were said, by what is on view: the window may have dropped the
    first of them."""
    endless = [*written, *[written[-1]] * len(before)]
    for start in range(len(written)):
        if endless[start : start + len(before)] == list(before):
            return start + len(before)
    return len(before)


def _key(content: str, calls: Sequence[Call]) -> str:
    """A reply as text, or by its calls where the protocol writes none."""
    return content or canonical([[call.name, call.arguments] for call in calls])
