"""The demo: the loop on the embedded student, sized for two cores and no GPU.

The figures behind the estimate were measured on one core of a server CPU in float32.
"""

from evener.agents.plan import Evaluation, Plan, Search, Training, Trials
from evener.config import GateConfig, HarnessConfig, RunConfig, student_named

CPU_PER_EPISODE = 1.0
CPU_PER_ROW = 2.5
SEEDS = 3  # of the full demo: one seed is one draw of the search
# of the full demo: what its claim needs; `evener matrix` makes the others
ARMS = ("effects", "versions", "trained_seed")


def demo_config(*, model: str = "embedded", seed: int = 0) -> RunConfig:
    """One round with a small gate: enough to show the loop, too little to prove small gains."""
    return RunConfig(
        student=student_named(model).model_copy(update={"batch": 64}),
        harness=HarnessConfig(start="seed", arms={"hand": "hand"}),
        gate=GateConfig(schedule="small"),
        plan=Plan(
            rounds=1,
            seed=seed,
            search=Search(
                iterations=2,
                mine_tasks=36,
                race_tasks=4,
                race_rollouts=36,
                proposals=8,
                lighter=0,
            ),
            trials=Trials(rollouts=200, temperature=0.3, watch=0),
            training=Training(collect_tasks=64, resamples=1),
            evaluation=Evaluation(test_tasks=60),
        ),
    )


def full_config(*, model: str = "embedded", seed: int = 0) -> RunConfig:
    """Two rounds with the default gate and sealed cells that bear weight."""
    return RunConfig(
        student=student_named(model).model_copy(update={"batch": 128, "concurrency": 128}),
        harness=HarnessConfig(start="seed", arms={"hand": "hand"}),
        plan=Plan(
            rounds=2,
            seed=seed,
            window=128,
            search=Search(iterations=3, mine_tasks=36, race_tasks=4, race_rollouts=40, proposals=8),
            trials=Trials(rollouts=400, temperature=0.3, watch=20),
            training=Training(collect_tasks=80, resamples=1),
            evaluation=Evaluation(test_tasks=120, ood_tasks=40),
        ),
    )
