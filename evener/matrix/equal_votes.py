"""What the untrained student solves when it may try as often as the trained one calls its model.

Under the target and under h*, n each: calls a task of `trained+target` over those of one try,
rounded up, and at least 1. A single try is the greedy one.
"""

import math

from evener.agents.ballot import TEMPERATURE
from evener.matrix.distilled import DEPLOYED, Distilled
from evener.matrix.review_bench import ReviewBench
from evener.matrix.votes import ballot
from evener.protocols.summary import Arm

HARNESSES = ("target", "optimized")


def skip(history: Distilled) -> str:
    """Needs the calls of a trained student."""
    if DEPLOYED not in history.calls:
        return f"there is no {DEPLOYED} whose calls it could match ({history.stop_reason})"
    return ""


def tries(history: Distilled, harness: str) -> int:
    """n under a harness."""
    one = history.calls[f"base+{harness}"]
    return max(1, math.ceil(history.calls[DEPLOYED] / one)) if one else 1


def rollouts(history: Distilled) -> int:
    """n for each test task, where n is more than the one that is there."""
    found = [tries(history, harness) for harness in HARNESSES]
    return sum(n for n in found if n > 1) * history.test_tasks


async def run(bench: ReviewBench) -> str:
    """Cells `base+target@best2`, `@majority2`, `@pass2` and the same of `base+optimized`."""
    history = bench.history
    said: list[str] = []
    async with bench.open() as (findings, _):
        for harness in HARNESSES:
            n, cell = tries(history, harness), history.base(harness)
            calls = await ballot(findings, cell, tries=n)
            how = f"{n} episodes a task at temperature {TEMPERATURE}" if n > 1 else "1, greedy"
            note = f"n = {how}; {DEPLOYED} makes {history.calls[DEPLOYED]:.2f} calls a task"
            arm = Arm(name=f"votes of {cell.name}", calls_per_task=calls, note=note)
            findings.note("arm", arm, same=("name",))
            said.append(f"{cell.name}: {calls:.2f} calls a task, {note}")
    return "; ".join(said)
