"""What the untouched student solves when it may try as often as the evolved one calls its model.

One set of n episodes a task serves three cells: `best` chooses as a user could, `majority` by the
answers, `pass` by the verifier, which no user has. n is such that base makes at least as many
calls a task as the cell it stands against.
"""

import math
from collections.abc import Sequence

from evener.agents.ballot import TEMPERATURE, majority, same_in
from evener.agents.sealed import CellPlan
from evener.matrix.bench import Bench
from evener.matrix.choice import best, verified
from evener.matrix.findings import Findings, calls_per_task
from evener.matrix.history import History
from evener.protocols.reference import EpisodeRef
from evener.protocols.summary import Arm
from evener.protocols.task import Split
from evener.protocols.trajectory import Trajectory

LEAST = 3


def skip(history: History) -> str:
    """Needs both cells."""
    return "" if {"base+seed", "base+evolved"} <= history.calls.keys() else "no sealed cells"


def tries(history: History) -> int:
    """n: calls a task of the deployed cell over those of base+seed, rounded up, at least 3."""
    one = history.calls["base+seed"]
    return max(LEAST, math.ceil(history.calls[history.deployed] / one)) if one else LEAST


def rollouts(history: History) -> int:
    """n for each test task."""
    return tries(history) * history.config.plan.evaluation.test_tasks


async def run(bench: Bench) -> str:
    """Cells `base+seed@best3`, `base+seed@majority3`, `base+seed@pass3` on `test`."""
    history, n = bench.history, tries(bench.history)
    base = CellPlan(name="base+seed", model=history.base, harness=history.seed.digest, label="v0")
    async with bench.open() as scorer:
        calls = await ballot(scorer, base, tries=n)
        against = history.calls[history.deployed]
        note = (
            f"{n} episodes a task at temperature {TEMPERATURE}; "
            f"{history.deployed} makes {against:.1f} calls a task"
        )
        scorer.note("arm", Arm(name="votes", calls_per_task=calls, note=note), same=("name",))
    return f"best, majority and pass of {n}: {calls:.1f} calls a task ({note})"


async def ballot(findings: Findings, base: CellPlan, *, tries: int) -> float:
    """Cells `NAME@best3`, `NAME@majority3`, `NAME@pass3` of the cell `base`; calls a task. One try
    is the greedy one of the cell itself: sampling would only handicap it."""
    rounds: list[tuple[EpisodeRef, ...]] = []
    seconds = 0.0
    for attempt in range(1, tries + 1):
        cell = base.model_copy(update={"name": f"{base.name}, try {attempt} of {tries}"})
        episodes, took = await findings.sealed.run(
            cell,
            Split.TEST,
            attempt=attempt if tries > 1 else 0,
            temperature=TEMPERATURE if tries > 1 else 0.0,
        )
        rounds.append(episodes)
        seconds += took
    tasks = [*zip(*rounds, strict=True)]
    bodies = [[findings.record.get(Trajectory, e.trajectory) for e in task] for task in tasks]
    same = same_in(findings.environment)
    selected: dict[str, Sequence[int]] = {
        "best": [best(body) for body in bodies],
        "majority": [await majority(body, same=same) for body in bodies],
        "pass": [verified(body) for body in bodies],
    }
    for name, indices in selected.items():
        chosen = [task[at] for task, at in zip(tasks, indices, strict=True)]
        cell = base.model_copy(update={"name": f"{base.name}@{name}{tries}"})
        entry = findings.sealed.entry(cell, Split.TEST, chosen, cpu_seconds=seconds)
        entry["spent"] = [episode.trajectory for task in tasks for episode in task]
        findings.note("cell", entry, same=("name", "split"), apart=("cpu_seconds",))
    return calls_per_task([e for task in tasks for e in task], tasks=len(tasks))
