"""A reviewer that knows the answer: it puts the right next action in the place of any other.

A control that no user has, beside reviews that know K alone. It is made by the bench, of plans for
the tasks that are collected on; no configuration names it, and it answers for no other task.
"""

from evener.agents.knowledge.seen import Seen, signature
from evener.agents.reviewers import ActionSpace
from evener.agents.reviewers.opinion import PASS
from evener.bench.sources.gold import Gold
from evener.bench.sources.speaker import Speaker
from evener.protocols.digest import digest
from evener.protocols.knowledge import Knowledge
from evener.protocols.wire import Review, ReviewRequest


class KnowingReviewer:
    """Holds every candidate against the plan of its task, said in the target's tools."""

    def __init__(self, gold: Gold, speaker: Speaker, space: ActionSpace) -> None:
        self._gold = gold
        self._speaker = speaker
        self._space = space
        # the next step is found as hints find it; there is no K behind it
        self._nothing = Knowledge(name="none", source="", target=space.digest)

    @property
    def name(self) -> str:
        """`knowing`."""
        return "knowing"

    @property
    def digest(self) -> str:
        """Over the plans and the target."""
        return digest(
            {"reviewer": "knowing", "gold": self._gold.digest, "target": self._space.digest}
        )

    async def review(self, request: ReviewRequest, *, attempt: int = 0) -> Review:
        """PASS for the plan's next action, else that action. Raises DataError for a task that was
        not drawn."""
        del attempt
        plan = await self._speaker.calls(request.prompt)
        seen = Seen(request, self._nothing, self._space.runtime)
        done = 0
        for made in seen.executed:
            left = plan[done : done + 1]
            if made.call is not None and [signature(call) for call in left] == [
                signature(made.call)
            ]:
                done += 1
        wanted = plan[min(done, len(plan) - 1)]
        if seen.call is not None and signature(seen.call) == signature(wanted):
            return PASS
        return Review(decision="REPLACE", replacement=self._space.write(wanted))
