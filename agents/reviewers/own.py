"""`own`: the student's own base reads h*, and K's recipes say in h's actions what it would do.

The model is shown the task as h* shows it, with h*'s prompt, skills, memory and tools. Its call
there is carried out in the target's actions, one step a turn: a `quote` is a look-up first, and the
multiplication once the price is on the table. What the steps give is told to it as h* would tell
it. So a model that h* helps corrects the same model without it, and nobody else's skill comes in.
"""

from evener.agents.knowledge.hints import fire
from evener.agents.knowledge.rules.number import ANSWER_DIFFERS
from evener.agents.knowledge.seen import Seen, signature
from evener.agents.reviewers.course import CallState, Course
from evener.agents.reviewers.opinion import Opinion
from evener.agents.reviewers.procedure import answer_with_last_result, procedure_of, steps_done
from evener.agents.reviewers.proposer import Proposer, Talk
from evener.agents.reviewers.space import ActionSpace
from evener.protocols.digest import digest
from evener.protocols.error import ConfigError, HarnessError
from evener.protocols.harness import Harness
from evener.protocols.knowledge import Knowledge
from evener.protocols.message import Call
from evener.protocols.port import Model
from evener.protocols.wire import Review, ReviewRequest

MOST_PROPOSALS = 8


def check_readable(optimized: Harness) -> None:
    """Raises HarnessError for a harness under which nothing can be proposed as text."""
    if optimized.middleware.protocol.format == "native":
        raise HarnessError(
            "a harness with the native protocol cannot be read by a reviewer",
            where=f"harness {optimized.name}, middleware.protocol.format",
            remedy="use json or hermes",
        )


class OwnReviewer:
    """`model` under `optimized`, translated by K into the actions of `space`.

    Raises ConfigError for a K of another harness, HarnessError for a native h*.
    """

    def __init__(
        self, model: Model, optimized: Harness, knowledge: Knowledge, space: ActionSpace
    ) -> None:
        check_readable(optimized)
        if knowledge.source != optimized.digest():
            raise ConfigError(
                f"{knowledge.name} was made of another harness than {optimized.name}",
                where="review",
                remedy="adapt the harness again",
            )
        self.knowledge = knowledge
        self._model = model
        self._space = space
        self._proposer = Proposer(model, optimized)
        self._course = Course(knowledge, space)

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
                "harness": self._proposer.harness,
                "knowledge": self.knowledge.digest(),
                "target": self._space.digest,
            }
        )

    async def review(self, request: ReviewRequest, *, attempt: int = 0) -> Review:
        """The next step of the model's proposal; PASS where it is the candidate, or none is."""
        seen = Seen(request, self.knowledge, self._space.runtime)
        talk = Talk()
        step, reason = await self._think(seen, talk, attempt)
        fired = fire(seen)
        text = self._instead(step, seen)
        return Opinion(
            decision="PASS" if text is None else "REPLACE",
            replacement=text,
            reason=reason,
            hints=fired.names,
            hint_faults=fired.faults,
            requests=talk.requests,
        )

    async def follow(self, request: ReviewRequest) -> Review | None:
        """The next step of what an earlier review of the episode began: of a proposal that was
        being carried out, or, where K's guidance is through with such a task, the answer.

        It rests on what the model proposed before. None where no review began anything, or the
        episode went another way since.
        """
        seen = Seen(request, self.knowledge, self._space.runtime)
        talk = Talk()
        step = await self._carried_on(seen, talk)
        if step is None:
            return None
        text = self._instead(step, seen)
        return Opinion(
            decision="PASS" if text is None else "REPLACE",
            replacement=text,
            reason="carried on",
            asked=False,
            requests=talk.requests,
        )

    def _instead(self, step: Call | None, seen: Seen) -> str | None:
        """The step as a response, None where there is none or the candidate is it."""
        if step is None or (seen.call is not None and signature(step) == signature(seen.call)):
            return None
        return self._space.write(step)

    async def _carried_on(self, seen: Seen, talk: Talk) -> Call | None:
        """The step after what was executed since a reviewer wrote last. The proposals up to there
        were asked for when it did."""
        executed = seen.executed
        begun = max((i for i, made in enumerate(executed) if made.reviewed), default=None)
        if begun is None:
            return None
        at = 0
        for _ in range(MOST_PROPOSALS):
            _, standing = await self._propose(seen, talk, at=at)
            if standing is None:
                return None
            at += standing.taken
            if at > begun:  # the one that the last replacement is a step of
                if at < len(executed):
                    return None
                return self._answer(seen) if standing.over else standing.following
            if not standing.over:
                return None
        return None

    def _answer(self, seen: Seen) -> Call | None:
        """The last result as the answer, where only that is left of K's procedure and K says that
        the answer is the last result."""
        procedure = procedure_of(seen)
        left = procedure[steps_done(procedure, seen) :]
        said = any(hint.rule == ANSWER_DIFFERS.name for hint in self.knowledge.hints)
        if not said or len(left) != 1 or left[0] not in self._space.finals:
            return None
        return answer_with_last_result(left[0], seen)

    async def _think(self, seen: Seen, talk: Talk, attempt: int) -> tuple[Call | None, str]:
        """Follow the proposals through what was executed, up to one that wants a step more: the
        step, if there is one, and why."""
        at = 0
        for _ in range(MOST_PROPOSALS):
            call, standing = await self._propose(seen, talk, at=at, attempt=attempt)
            if call is None:
                return None, "the proposal is no call of its tools"
            if standing is None:
                return None, f"K has no recipe for {call.name}"
            if not standing.over:
                cannot = "" if standing.following else ", which cannot be carried out"
                return standing.following, f"proposed {signature(call)}{cannot}"
            at += standing.taken
        return None, f"no new step in {MOST_PROPOSALS} proposals"

    async def _propose(
        self, seen: Seen, talk: Talk, *, at: int, attempt: int = 0
    ) -> tuple[Call | None, CallState | None]:
        """The next proposal, and where it stands among the calls executed from `at` on, which is
        told to the model once it is over. No standing where K cannot carry it out."""
        call = await self._proposer.next(seen.request, talk, attempt)
        if call is None or not self._course.knows(call.name):
            return call, None
        standing = self._course.standing(call, seen.executed[at:], worked=seen.worked)
        if standing.over:
            talk.told.append((call, standing.result))
        return call, standing
