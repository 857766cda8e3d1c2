"""The same search without attribution: edits of the catalogue at random, same gate, same rollouts.

What the critic's blame is worth is `base+evolved_1` against `base+random`.
"""

from evener.agents.plan import Budget
from evener.config import CriticConfig, RunConfig
from evener.matrix.bench import Bench
from evener.matrix.history import History, Version
from evener.matrix.nested import alone, nested
from evener.protocols.summary import Arm

NAME = "random"


def skip(history: History) -> str:
    """Beside a first round that searched."""
    if not limit(history):
        return "the log does not say what round 1 spent on its search"
    return "the run's own critic is random" if history.config.critic.kind == "random" else ""


def limit(history: History) -> int:
    """Rollouts of the run's first search and its confirmation."""
    return history.rollouts("search", "confirm", rounds=(1,))


def rollouts(history: History) -> int:
    """The search, one trial more at most, and two cells."""
    plan = history.config.plan
    cells = 2 * plan.evaluation.test_tasks
    return limit(history) + plan.trials.rollouts + cells


def config(history: History) -> RunConfig:
    """One round, no later look: `base+evolved_1` had none either."""
    found = alone(history.config, rounds=1, critic=CriticConfig(kind="random"))
    plan = found.plan.model_copy(
        update={
            "budget": Budget(rollouts=limit(history)),
            "trials": found.plan.trials.model_copy(update={"watch": 0}),
        }
    )
    return found.model_copy(update={"plan": plan})


async def run(bench: Bench) -> str:
    """The cell `base+random`, and `base+evolved_1` beside it."""
    history = bench.history
    found = await nested(bench, NAME, config(history), critic=False)
    async with bench.open() as scorer:
        harness = Version(scorer.record.put(found.harness), f"{NAME} {found.version}")
        calls = await scorer.cell(f"base+{NAME}", model=history.base, harness=harness)
        if 1 in history.searched:
            beside = history.searched[1]
            await scorer.cell("base+evolved_1", model=history.base, harness=beside)
        arm = Arm(
            name=NAME,
            rollouts=found.rollouts,
            rollout_limit=limit(history),
            calls_per_task=calls,
            note=f"one round of catalogue edits at random came to {found.version}",
        )
        scorer.note("arm", arm, same=("name",))
    return f"{arm.rollouts} rollouts against {arm.rollout_limit} of the run; {arm.note}"
