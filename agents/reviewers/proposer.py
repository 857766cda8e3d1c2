"""What the student's base would do under h*: its next call there, as h* mends it.

A proposer is asked for the beginnings of the same episodes again and again, and keeps its replies.
"""

from collections import OrderedDict
from dataclasses import dataclass, field

from evener.agents.harness import render
from evener.agents.harness.parse import first_call, read_reply
from evener.agents.harness.runtime import Opening, prepare
from evener.agents.harness.tool import Resolved
from evener.protocols.digest import digest
from evener.protocols.harness import Harness
from evener.protocols.message import Call, Message
from evener.protocols.model import Reply, Request, Sampling
from evener.protocols.port import Model
from evener.protocols.wire import ReviewRequest

MOST_KEPT = 4096
AGAIN = 0.7
"""The temperature of a proposal that is asked for again after an invalid one."""


@dataclass
class Talk:
    """What the model has proposed and was told so far; the tokens of each request by its key."""

    requests: dict[str, int] = field(default_factory=dict[str, int])
    told: list[tuple[Call, str]] = field(default_factory=list[tuple[Call, str]])


class Proposer:
    """`model` under `optimized`, shown a task as that harness shows it."""

    def __init__(self, model: Model, optimized: Harness) -> None:
        self._model = model
        self._runtime = prepare(optimized)
        self._kept: OrderedDict[str, Reply] = OrderedDict()

    @property
    def harness(self) -> str:
        """The digest of h*."""
        return self._runtime.digest

    async def next(self, request: ReviewRequest, talk: Talk, attempt: int) -> Call | None:
        """The model's next call under h*, mended as h* mends it; None where it is none."""
        harness = self._runtime.harness
        notes = self._runtime.recalled(request.prompt)
        called = {call.name for call, _ in talk.told}
        opening = self._runtime.opening(request.prompt, called=called, notes=notes)
        reply = await self._complete(self._request(request, opening, talk, attempt), talk)
        lenient = any(name == "repair_call" for name, _ in self._runtime.hooks["after_model"])
        strict = False if lenient else None
        call = first_call(read_reply(reply, harness, opening.offered, strict=strict))
        if call is None:
            return None
        resolved = self._runtime.toolbox.resolve(call, opening.offered, turn=0)
        return resolved.call if isinstance(resolved, Resolved) else None

    def _request(
        self, request: ReviewRequest, opening: Opening, talk: Talk, attempt: int
    ) -> Request:
        harness = self._runtime.harness
        loop = harness.middleware.loop
        told: list[Message] = []
        for call, result in talk.told:
            text = render.call_text(harness, call.name, call.arguments)
            told.append(Message(role="assistant", content=text, origin="student"))
            told += render.results(harness, [(call, result)])
        # a proposal that came to nothing is asked for again as a draw of its own
        seed = int(digest([request.prompt, request.candidate, attempt])[:7], 16)
        return Request(
            messages=(*opening.messages, *told),
            sampling=Sampling(
                temperature=AGAIN if attempt else 0.0,
                max_tokens=loop.max_reply_tokens,
                seed=seed if attempt else 0,
                stop=loop.stop,
            ),
        )

    async def _complete(self, request: Request, talk: Talk) -> Reply:
        """The reply, kept: later turns of an episode ask for the same beginnings again."""
        key = request.key()
        reply = self._kept.get(key)
        if reply is None:
            reply = await self._model.complete(request)
            self._kept[key] = reply
        self._kept.move_to_end(key)
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        talk.requests[key] = reply.usage.read + reply.usage.written
        return reply
