"""Which episodes a student may learn from: those that the verifier accepted, few of each task.

Every episode left out is counted under one reason; infra and truncation are reasons of their own
and never taught. With `all` failed ones are, as in Harness-Zero's data for retrosynthesis.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypeAlias

from evener.protocols.digest import Wire
from evener.protocols.trajectory import Outcome, Trajectory

Keep: TypeAlias = Literal["verified", "all"]
"""Which outcomes are taught: solved alone, or failed as well."""

EpisodeRefusal: TypeAlias = Literal["infra", "truncated", "not_solved", "other_run_of_task"]


class Selection(Wire):
    """Episodes to train on, in the order of their tasks, and how many were refused and why."""

    episodes: tuple[Trajectory, ...]
    refused: dict[str, int]


def select(
    trajectories: Sequence[Trajectory], *, per_task: int = 1, keep: Keep = "verified"
) -> Selection:
    """Solved episodes, at most `per_task` of each task: the earliest attempts, then the shortest.
    With `all` failed ones too, behind the solved ones of their task.

    The choice does not depend on the order of `trajectories`, save for the order of the tasks.
    """
    refused: Counter[str] = Counter()
    tasks: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        reason = refusal(trajectory, keep=keep)
        if reason is not None:
            refused[reason] += 1
        else:
            tasks.setdefault(trajectory.task.id, []).append(trajectory)
    kept: list[Trajectory] = []
    for runs in tasks.values():
        runs.sort(key=lambda run: (not run.solved, run.key.attempt, run.usage.written, run.id))
        kept += runs[:per_task]
        if len(runs) > per_task:
            refused["other_run_of_task"] += len(runs) - per_task
    return Selection(episodes=tuple(kept), refused=dict(refused))


def refusal(trajectory: Trajectory, *, keep: Keep = "verified") -> EpisodeRefusal | None:
    """Why an episode is not to be taught, or None."""
    match trajectory.outcome:
        case Outcome.SOLVED:
            return None
        case Outcome.INFRA:
            return "infra"
        case Outcome.TRUNCATED:
            return "truncated"
        case Outcome.FAILED:
            return None if keep == "all" else "not_solved"
