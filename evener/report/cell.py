"""Cells and comparisons from stored trajectories: the figures of the sealed test."""

from collections.abc import Mapping, Sequence

from evener.protocols.event import Acted, CallRefused, ParseFailed
from evener.protocols.interval import paired, wilson
from evener.protocols.summary import Cell, Comparison
from evener.protocols.trajectory import Outcome, Trajectory, prompt_digest


def cell(
    trajectories: Sequence[Trajectory],
    *,
    name: str,
    model: str,
    harness: str,
    split: str,
    seed: int,
    cpu_seconds: float,
    spent: Sequence[Trajectory] | None = None,
) -> Cell:
    """pass@1 with its Wilson interval over the scored episodes; infra counts against coverage.

    `spent` are all episodes that the answers needed where that is more than these (best of n):
    calls and tokens are theirs.
    """
    scored = [t for t in trajectories if t.outcome is not Outcome.INFRA]
    paid = scored if spent is None else spent
    solved = sum(t.solved for t in scored)
    rate = wilson(solved, len(scored))
    return Cell(
        name=name,
        model=model,
        harness=harness,
        split=split,
        n=len(scored),
        solved=solved,
        rate=rate.value,
        low=rate.low,
        high=rate.high,
        coverage=len(scored) / len(trajectories) if trajectories else 0.0,
        tool_error_rate=tool_error_rate(scored),
        calls=sum(t.usage.made for t in paid),
        tokens=sum(t.usage.written for t in paid),
        cpu_seconds=cpu_seconds,
        seed=seed,
    )


def tool_error_rate(trajectories: Sequence[Trajectory]) -> float:
    """Share of attempted calls that were unreadable, refused, or failed in the environment."""
    good = bad = 0
    for trajectory in trajectories:
        for event in trajectory.events:
            match event:
                case ParseFailed() | CallRefused():
                    bad += 1
                case Acted(error_kind=kind):
                    good += kind is None
                    bad += kind is not None
                case _:
                    pass
    return bad / (good + bad) if good + bad else 0.0


def rewards(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """The reward of every scored episode by its task: id and text, so that equal ids of different
    tasks stay apart."""
    return {prompt_digest(t.task): t.reward for t in trajectories if t.reward is not None}


def difference(
    cells: Mapping[str, Mapping[str, float]], a: str, b: str, *, split: str, seed: int
) -> Comparison:
    """a − b from the rewards of both, over the tasks that both scored."""
    left, right = cells[a], cells[b]
    common = sorted(left.keys() & right.keys())
    delta = paired([[left[task] - right[task]] for task in common], seed=seed)
    return Comparison(
        a=a, b=b, split=split, difference=delta.value, low=delta.low, high=delta.high, n=delta.n
    )
