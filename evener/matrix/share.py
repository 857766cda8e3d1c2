"""The run's reviewer called the other way: only where something flags a response, or always.

Beside `base+reviewed` it tells what share was reviewed, what that cost, and what it did.
"""

from dataclasses import dataclass
from typing import Literal

from evener.matrix import reviewed
from evener.matrix.distilled import Distilled
from evener.matrix.review_bench import ReviewBench, Reviewing


@dataclass(frozen=True)
class Share:
    """The arm of one way of calling the reviewer."""

    review: Literal["flagged", "always"]

    def skip(self, history: Distilled) -> str:
        """Where the run itself reviewed the other way."""
        if history.settings.review == self.review:
            return f"the run itself reviews so ({self.review}): that is base+reviewed"
        return reviewed.skip(history)

    def rollouts(self, history: Distilled) -> int:
        """One cell, and `base+reviewed` to stand beside it."""
        return 2 * history.test_tasks

    async def run(self, bench: ReviewBench) -> str:
        """The cell `base+reviewed_flagged` or `base+reviewed_always` on `test`, and
        `base+reviewed`."""
        history, knowledge = bench.history, bench.lesson.knowledge
        other = history.settings.model_copy(update={"review": self.review})
        own = history.base("target", name="base+reviewed")
        cell = history.base("target", name=f"base+reviewed_{self.review}")
        return await bench.score(
            Reviewing(cell, other, knowledge), Reviewing(own, history.settings, knowledge)
        )


FLAGGED, ALWAYS = Share("flagged"), Share("always")
