"""The harness as a reviewer of an untrained student: what review is worth without training, and
what K is worth to it.

`base+reviewed` has the run's own reviewer, `base+reviewed_empty` the same one with an empty K.
Where only flagged responses are reviewed, an empty K has no hint that could flag one.
"""

from evener.matrix.distilled import Distilled
from evener.matrix.review_bench import ReviewBench, Reviewing
from evener.reviewing import emptied


def skip(history: Distilled) -> str:
    """Where somebody reviews."""
    passes = history.settings.reviewer == "passthrough"
    return "the run's reviewer lets everything pass" if passes else ""


def rollouts(history: Distilled) -> int:
    """Two cells."""
    return 2 * history.test_tasks


async def run(bench: ReviewBench) -> str:
    """Cells `base+reviewed` and `base+reviewed_empty` on `test`."""
    history, lesson = bench.history, bench.lesson
    return await bench.score(
        Reviewing(history.base("target", name="base+reviewed"), history.settings, lesson.knowledge),
        Reviewing(
            history.base("target", name="base+reviewed_empty"),
            history.settings,
            emptied(lesson.secret),
        ),
    )
