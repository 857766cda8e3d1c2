"""Episodes of all arms become what recovery counts."""

from collections.abc import Sequence

from evener.distill.detectors import frozen
from evener.distill.recovery.rate import recovery
from evener.distill.recovery.sighted import watch
from evener.protocols.behaviour import Behaviour
from evener.protocols.conduct import worked
from evener.protocols.event import Acted
from evener.protocols.message import Call
from evener.protocols.model import ModelRef, Usage
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Outcome, Score, Trajectory


def test_episodes_of_all_arms_become_lines_in_the_order_of_the_detectors() -> None:
    def episodes(calls: Sequence[str]) -> list[Trajectory]:
        return [episode(f"t{at:03d}", name) for at, name in enumerate(calls)]

    looks = Behaviour(
        name="looks", part="tools", text="looks up", shown=lambda t: bool(worked(t, "lookup"))
    )
    sums = Behaviour(
        name="sums", part="tools", text="sums up", shown=lambda t: bool(worked(t, "calculator"))
    )
    seen = watch(
        (looks, sums),
        chosen_base=episodes(["calculator"] * 20),
        chosen_optimized=episodes(["lookup"] * 20),
        base=episodes(["calculator"] * 20),
        optimized=episodes(["lookup"] * 20),
        distilled=[
            *episodes(["lookup"] * 15 + ["calculator"] * 4),
            episode("t019", "lookup", outcome=Outcome.INFRA),
        ],
    )
    lines, means = recovery(seen, seed=0, detectors=frozen((looks, sums)))
    assert [line.pattern for line in lines] == ["looks", "sums"]
    assert (lines[0].paper, lines[0].coverage) == (15 / 19, 0.95)
    assert lines[0].control is None
    assert lines[1].note == "base + h* never shows it"
    assert means.detectors == frozen((looks, sums))


def episode(task: str, action: str, *, outcome: Outcome = Outcome.FAILED) -> Trajectory:
    """An episode in which one action worked."""
    given = Task(id=task, split=Split.TEST, prompt=task)
    key = EpisodeKey(
        task=task, prompt_digest="p", harness="h", model="m", purpose=Purpose.EVALUATE, seed=0
    )
    return Trajectory(
        id=key.id(),
        key=key,
        task=given,
        model=ModelRef(base="m", revision="m"),
        messages=(),
        events=(Acted(turn=0, tool=action, call=Call(name=action), observation="1"),),
        outcome=outcome,
        score=Score(value=0.0, verdict="incorrect"),
        usage=Usage(),
    )
