"""`own`: the student's own base reads h*, and K's recipes say in h's actions what it would do.

The model is shown the task as h* shows it, with h*'s prompt, skills, memory and tools. Its call
there is carried out in the target's actions, one step a turn: a `quote` is a look-up first, and the
multiplication once the price is on the table. What the steps give is told to it as h* would tell
it. So a model that h* helps corrects the same model without it, and nobody else's skill comes in.
"""

from collections import OrderedDict
from dataclasses import dataclass

from evener.agents.harness import render
from evener.agents.harness.parse import read_reply
from evener.agents.harness.runtime import Opening, prepare
from evener.agents.harness.tool import Resolved
from evener.agents.knowledge.hints import fire
from evener.agents.knowledge.seen import Seen, signature
from evener.agents.reviewers.course import Course
from evener.agents.reviewers.opinion import Opinion
from evener.agents.reviewers.space import ActionSpace
from evener.protocols.digest import digest
from evener.protocols.error import ConfigError, HarnessError
from evener.protocols.event import Parsed
from evener.protocols.harness import Harness
from evener.protocols.knowledge import Knowledge
from evener.protocols.message import Call, Message
from evener.protocols.model import Reply, Request, Sampling, Usage
from evener.protocols.port import Model
from evener.protocols.wire import Review, ReviewRequest

MOST_PROPOSALS = 8
MOST_KEPT = 4096
AGAIN = 0.7
"""The temperature of a proposal that is asked for again after an invalid one."""


class OwnReviewer:
    """`model` under `optimized`, translated by K into the actions of `space`.

    Raises ConfigError for a K of another harness, HarnessError for a native h*.
    """

    def __init__(
        self, model: Model, optimized: Harness, knowledge: Knowledge, space: ActionSpace
    ) -> None:
        if optimized.middleware.protocol.format == "native":
            raise HarnessError(
                "a harness with the native protocol cannot be read by a reviewer",
                where=f"harness {optimized.name}, middleware.protocol.format",
                remedy="use json or hermes",
            )
        if knowledge.source != optimized.digest():
            raise ConfigError(
                f"{knowledge.name} was made of another harness than {optimized.name}",
                where="review",
                remedy="adapt the harness again",
            )
        self.knowledge = knowledge
        self._model = model
        self._space = space
        self._runtime = prepare(optimized)
        self._course = Course(knowledge, space)
        self._kept: OrderedDict[str, Reply] = OrderedDict()

    @property
    def name(self) -> str:
        """`own`, and the model."""
        return f"own {self._model.ref}"

    @property
    def digest(self) -> str:
        """Over the model, h*, K and the target."""
        return digest(
            {
                "reviewer": "own",
                "model": self._model.ref.revision,
                "harness": self._runtime.digest,
                "knowledge": self.knowledge.digest(),
                "target": self._space.digest,
            }
        )

    async def review(self, request: ReviewRequest, *, attempt: int = 0) -> Review:
        """The next step of the model's proposal; PASS where it is the candidate, or none is."""
        seen = Seen(request, self.knowledge, self._space.runtime)
        thought = await self._think(seen, attempt)
        fired = fire(request, self.knowledge, target=self._space.target)
        step = thought.step
        if step is not None and seen.call is not None and signature(step) == signature(seen.call):
            step = None
        return Opinion(
            decision="PASS" if step is None else "REPLACE",
            replacement=None if step is None else self._space.write(step),
            reason=thought.reason,
            hints=tuple(said.hint for said in fired.said),
            hint_faults=fired.faults,
            usage=thought.usage,
        )

    async def _think(self, seen: Seen, attempt: int) -> "_Thought":
        """Follow the proposals through what was executed, up to one that wants a step more."""
        talk = _Talk(Usage(), [])
        executed = seen.executed
        at = 0
        for _ in range(MOST_PROPOSALS):
            call = await self._propose(seen.request, talk, attempt)
            if call is None:
                return _Thought(None, "the proposal is no call of its tools", talk.usage)
            if not self._course.knows(call.name):
                return _Thought(None, f"K has no recipe for {call.name}", talk.usage)
            standing = self._course.standing(call, executed[at:], worked=seen.worked)
            at += standing.taken
            if not standing.over:
                reason = f"proposed {signature(call)}"
                if standing.following is None:
                    reason = f"{reason}, which cannot be carried out"
                return _Thought(standing.following, reason, talk.usage)
            talk.told.append((call, standing.result))
        return _Thought(None, f"no new step in {MOST_PROPOSALS} proposals", talk.usage)

    async def _propose(self, request: ReviewRequest, talk: "_Talk", attempt: int) -> Call | None:
        """The model's next call under h*, mended as h* mends it."""
        harness = self._runtime.harness
        notes = self._runtime.recalled(request.prompt)
        called = {call.name for call, _ in talk.told}
        opening = self._runtime.opening(request.prompt, called=called, notes=notes)
        reply = await self._complete(self._request(request, opening, talk, attempt), talk)
        lenient = any(name == "repair_call" for name, _ in self._runtime.hooks["after_model"])
        strict = False if lenient else None
        reading = read_reply(reply, harness, opening.offered, strict=strict)
        calls = reading.calls if isinstance(reading, Parsed) else ()
        if not calls:
            return None
        resolved = self._runtime.toolbox.resolve(calls[0], opening.offered, turn=0)
        return resolved.call if isinstance(resolved, Resolved) else None

    def _request(
        self, request: ReviewRequest, opening: Opening, talk: "_Talk", attempt: int
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

    async def _complete(self, request: Request, talk: "_Talk") -> Reply:
        """The reply, kept: later turns of an episode ask for the same beginnings again."""
        key = request.key()
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept
        reply = await self._model.complete(request)
        talk.usage += reply.usage
        self._kept[key] = reply
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return reply


@dataclass
class _Talk:
    """What the model has proposed and was told so far, and what asking it cost."""

    usage: Usage
    told: list[tuple[Call, str]]


@dataclass(frozen=True)
class _Thought:
    """The step it comes to, if there is one, and why."""

    step: Call | None
    reason: str
    usage: Usage
