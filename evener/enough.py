"""Whether a plan can come to anything: tasks enough in every split, rollouts enough for a trial."""

from collections.abc import Mapping

from evener.agents.plan import Plan
from evener.agents.trials.trial import REPEATS
from evener.choose import choose_gate
from evener.config import RunConfig
from evener.protocols.error import ConfigError, DataError
from evener.protocols.port import Environment, Gate
from evener.protocols.task import Split

ASKING = {
    Split.MINE: "plan.search.mine_tasks, plan.training.collect_tasks",
    Split.HELD_IN: "the gate: gate.schedule",
    Split.HELD_OUT: "the gate: gate.schedule",
    Split.TEST: "plan.evaluation.test_tasks",
    Split.OOD: "plan.evaluation.ood_tasks",
}
"""What asks for the tasks of a split."""


def enough(environment: Environment, config: RunConfig, *, gate: Gate | None = None) -> None:
    """Draw every split once at the size the plan asks for, those of the gate (None: that of the
    configuration) at the least with which it can accept anything, so that what is too small is
    named now and not after hours. Raises DataError, ConfigError for `plan.trials.rollouts`."""
    plan = config.plan
    collect = plan.training.collect_tasks if plan.training.method != "none" else 0
    held_in, held_out = _first_look(plan, gate or choose_gate(config))
    draw(
        environment,
        {
            Split.MINE: max(plan.search.mine_tasks, collect),
            Split.HELD_IN: held_in,
            Split.HELD_OUT: held_out,
            Split.TEST: plan.evaluation.test_tasks,
            Split.OOD: plan.evaluation.ood_tasks,
        },
        seed=plan.seed,
    )


def draw(environment: Environment, sizes: Mapping[Split, int], *, seed: int) -> None:
    """Draw so many tasks of each split. Raises DataError for a split that is too small, with the
    keys that ask for its tasks."""
    for split, count in sizes.items():
        if count:
            try:
                environment.tasks(split, count=count, seed=seed)
            except DataError as error:
                raise DataError(
                    error.what, where=error.where, remedy=f"{error.remedy} ({ASKING[split]})"
                ) from None


def _first_look(plan: Plan, gate: Gate) -> tuple[int, int]:
    """How many tasks of held_in and held_out a trial must find to reach its first look; 1 where the
    plan makes no trial. Raises ConfigError where its rollouts are too few for that."""
    if not plan.search.iterations and plan.training.method == "none":
        return 1, 1
    held_in, held_out = gate.least("improve")
    if plan.trials.rollouts < 2 * (held_in + held_out):
        raise ConfigError(
            f"with {plan.trials.rollouts} rollouts no trial can end in ACCEPT: the gate's first "
            f"look takes {held_in} pairs held in and {held_out} held out",
            where="plan.trials.rollouts",
            remedy=f"give {2 * (held_in + held_out)} or more",
        )
    passes = 1 + (REPEATS if plan.trials.temperature else 0)
    return -(-held_in // passes), -(-held_out // passes)
