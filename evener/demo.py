"""The demo: one round on the embedded student, sized for two cores and no GPU.

The figures behind the estimate were measured on one core of a server CPU in float32.
"""

from evener.agents.plan import Evaluation, Plan, Search, Training, Trials
from evener.config import GateConfig, HarnessConfig, RunConfig, StudentConfig

CPU_PER_EPISODE = 0.9
CPU_PER_ROW = 2.5


def demo_config(*, model: str = "embedded", seed: int = 0) -> RunConfig:
    """One round with a small gate: enough to show the loop, too little to prove small gains."""
    return RunConfig(
        student=StudentConfig(model=model),
        harness=HarnessConfig(start="seed", arms={"hand": "hand"}),
        gate=GateConfig(schedule="small"),
        plan=Plan(
            rounds=1,
            seed=seed,
            search=Search(iterations=2, mine_tasks=45, race_tasks=6, proposals=8),
            trials=Trials(rollouts=200, temperature=0.3),
            training=Training(collect_tasks=96, resamples=1),
            evaluation=Evaluation(test_tasks=60),
        ),
    )
