"""Which episodes a critic of this package reads: failed mining episodes of the harness at hand."""

from evener.protocols.error import EvenerError
from evener.protocols.harness import Harness
from evener.protocols.task import Purpose, Split
from evener.protocols.trajectory import Outcome, Trajectory


def admit(failure: Trajectory, harness: Harness) -> None:
    """Raises EvenerError for an episode of another purpose, split, outcome or harness, and for one
    without events."""
    episode = f"episode {failure.id}"
    if failure.key.purpose is not Purpose.MINE or failure.task.split is not Split.MINE:
        raise EvenerError(
            f"{episode} is a {failure.key.purpose} episode of the split {failure.task.split}; "
            "the critic reads mining episodes only"
        )
    if failure.outcome not in (Outcome.FAILED, Outcome.TRUNCATED):
        raise EvenerError(f"{episode} is {failure.outcome}: only failures are attributed")
    if not failure.events:
        raise EvenerError(f"{episode} has no events, so no evidence can be cited")
    if failure.key.harness != harness.digest():
        raise EvenerError(
            f"{episode} ran under the harness {failure.key.harness[:12]}, "
            f"not under {harness.digest()[:12]}"
        )
