"""Would round 2 have found the same harness without new weights? The search goes on from base.

`trained_1+evolved_2` against `trained_1+counterfactual_2` says whether a harness evolved on the new
weights fits them better than one evolved on the old.
"""

from evener.config import RunConfig
from evener.estimate import estimate
from evener.matrix.bench import Bench
from evener.matrix.history import History, Version
from evener.matrix.nested import alone, nested
from evener.protocols.summary import Arm

NAME = "counterfactual"
ROUNDS = 2


def skip(history: History) -> str:
    """Beside a second round that began from new weights."""
    if history.config.plan.training.method == "none":
        return "the run trains no weights"
    if "trained_1" not in history.models:
        return "round 1 put no new weights in force"
    return "" if ROUNDS in history.searched else "the run has no second round"


def rollouts(history: History) -> int:
    """Bounds of the search of two rounds, and three cells."""
    cells = 3 * history.config.plan.evaluation.test_tasks
    return estimate(config(history).plan, arms=0).rollouts + cells


def config(history: History) -> RunConfig:
    """Two rounds of the same search, on the base weights throughout."""
    return alone(history.config, rounds=ROUNDS)


async def run(bench: Bench) -> str:
    """Cells `trained_1+counterfactual_2`, `trained_1+evolved_2`, `base+counterfactual_2`."""
    history = bench.history
    found = await nested(bench, NAME, config(history), critic=True)
    async with bench.open() as scorer:
        harness = Version(scorer.record.put(found.harness), f"{NAME} {found.version}")
        model, cell = history.models["trained_1"], f"{NAME}_{ROUNDS}"
        calls = await scorer.cell(f"trained_1+{cell}", model=model, harness=harness)
        beside = history.searched[ROUNDS]
        await scorer.cell(f"trained_1+evolved_{ROUNDS}", model=model, harness=beside)
        await scorer.cell(f"base+{cell}", model=history.base, harness=harness)
        arm = Arm(
            name=NAME,
            rollouts=found.rollouts,
            rollout_limit=history.rollouts("search", "confirm", rounds=(1, ROUNDS)),
            calls_per_task=calls,
            note=f"two rounds on base came to {found.version}; the limit is what the run spent "
            "on its first two searches, and binds nothing",
        )
        scorer.note("arm", arm, same=("name",))
    return f"{arm.rollouts} rollouts against {arm.rollout_limit} of the run; {arm.note}"
