"""`passthrough` lets every candidate pass: the exact baseline, through the same path."""

from evener.agents.reviewers.opinion import PASS
from evener.protocols.digest import digest
from evener.protocols.wire import Review, ReviewRequest


class PassThrough:
    """A reviewer without an opinion."""

    @property
    def name(self) -> str:
        """`passthrough`."""
        return "passthrough"

    @property
    def digest(self) -> str:
        """The same for all of them: there is nothing to set."""
        return digest({"reviewer": "passthrough"})

    async def review(self, request: ReviewRequest, *, attempt: int = 0) -> Review:
        """PASS."""
        del request, attempt
        return PASS
