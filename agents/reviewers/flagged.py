"""`review: flagged` calls the reviewer only where something looks wrong.

A candidate is flagged if one of K's hints fires, or if the student was less sure of it than a
threshold (where the engine says how sure). Every other candidate passes at no cost, but for the
rest of what a review began: a reviewer that can (`Follows`) sees its own proposal through, without
asking its model again.
"""

from typing import Protocol, runtime_checkable

from evener.agents.knowledge.hints import fire
from evener.agents.knowledge.seen import Seen
from evener.agents.reviewers.opinion import Opinion, opinion
from evener.agents.reviewers.space import ActionSpace
from evener.protocols.digest import digest
from evener.protocols.knowledge import Knowledge
from evener.protocols.port import Reviewer
from evener.protocols.wire import Review, ReviewRequest


@runtime_checkable
class Follows(Protocol):
    """A reviewer that goes on with what it began in an episode."""

    async def follow(self, request: ReviewRequest) -> Review | None:
        """Its word on the candidate; None where nothing it began goes on."""
        ...


class Flagged:
    """`reviewer` on flagged candidates alone: those of which a hint of K has something to say, and
    those whose mean log-probability is under `threshold` (None: that flags nothing). Once
    `most_replaced` responses of an episode are the reviewer's, it is asked no more (None: always);
    what it began goes on."""

    def __init__(
        self,
        reviewer: Reviewer,
        knowledge: Knowledge,
        space: ActionSpace,
        *,
        threshold: float | None = None,
        most_replaced: int | None = None,
    ) -> None:
        self._reviewer = reviewer
        self.knowledge = knowledge
        self._space = space
        self._threshold = threshold
        self._most_replaced = most_replaced

    @property
    def name(self) -> str:
        """`flagged` and the reviewer that is called."""
        return f"flagged {self._reviewer.name}"

    @property
    def digest(self) -> str:
        """Over the reviewer, K, what flags, and how often it is asked."""
        return digest(
            {
                "reviewer": "flagged",
                "calls": self._reviewer.digest,
                "knowledge": self.knowledge.digest(),
                "target": self._space.digest,
                "threshold": self._threshold,
                "most_replaced": self._most_replaced,
                "follows": isinstance(self._reviewer, Follows),
            }
        )

    async def review(self, request: ReviewRequest, *, attempt: int = 0) -> Review:
        """What the reviewer goes on with; else its word on a flagged candidate, else PASS."""
        if isinstance(self._reviewer, Follows) and not attempt:
            going_on = await self._reviewer.follow(request)
            if going_on is not None:
                return going_on
        if self._most_replaced is not None and request.replaced >= self._most_replaced:
            return Opinion(decision="PASS", asked=False)
        fired = fire(Seen(request, self.knowledge, self._space.runtime))
        flags = [*fired.names]
        sure = request.mean_logprob
        if self._threshold is not None and sure is not None and sure < self._threshold:
            flags.append(f"mean_logprob {sure:.3f}")
        if not flags:
            return Opinion(decision="PASS", asked=False, hint_faults=fired.faults)
        said = opinion(await self._reviewer.review(request, attempt=attempt))
        return said.model_copy(
            update={
                "flag": ", ".join(flags),
                "hints": tuple(dict.fromkeys((*fired.names, *said.hints))),
                "hint_faults": tuple(dict.fromkeys((*fired.faults, *said.hint_faults))),
            }
        )
