"""A run inside a run's folder, under `arms/NAME`: the same search with one thing changed.

It has its own log, store and registry, so it can be looked at like any other, and it is resumed as
any other. Its sealed test is as small as it can be: its harness is scored in the run around it.
"""

from pathlib import Path
from typing import NamedTuple

from evener.agents.models.cache import CachedModel, Lent
from evener.agents.plan import Budget, Evaluation
from evener.agents.record.log import latest
from evener.agents.record.run import RunFolder
from evener.config import CriticConfig, RunConfig, of_run
from evener.matrix.bench import Bench
from evener.protocols.harness import Harness
from evener.team import Team


class Nested(NamedTuple):
    """Where the nested run's harness came to stand, and the rollouts that it took."""

    harness: Harness
    version: str
    rollouts: int


def alone(config: RunConfig, *, rounds: int, critic: CriticConfig | None = None) -> RunConfig:
    """The run's configuration for a search alone: no training, no arms, next to no sealed test, no
    limit but the plan's."""
    plan = config.plan
    changed = plan.model_copy(
        update={
            "rounds": rounds,
            "training": plan.training.model_copy(update={"method": "none"}),
            "evaluation": Evaluation(test_tasks=1, ood_tasks=0),
            "budget": Budget(),
        }
    )
    update: dict[str, object] = {
        "plan": changed,
        "harness": config.harness.model_copy(update={"arms": {}}),
    }
    if critic is not None:
        update["critic"] = critic
    return RunConfig.model_validate(config.model_copy(update=update).model_dump())


async def nested(bench: Bench, name: str, config: RunConfig, *, critic: bool) -> Nested:
    """Run it to its end, or take it as it is where it is over. `critic`: whether a critic that was
    handed in is used. What the run around it was answered to an equal request is not paid for
    again."""
    out = bench.run / "arms" / name
    found = _over(out, config)
    if found is not None:
        return found
    parts = bench.own()
    if not critic:
        parts.critic = None
    with RunFolder.read(bench.run) as around:
        lent = CachedModel(bench.model, Lent(around.replies))
        async with Team.open(config, out, parts=parts.with_model(lent)) as team:
            await team.run()
    found = _over(out, config)
    assert found is not None
    return found


def _over(out: Path, config: RunConfig) -> Nested | None:
    """The end of the run that is there, if it has one and is this one."""
    if not (out / "manifest.json").exists():
        return None
    with RunFolder.read(out) as folder:
        ends = list(folder.record.bodies("ended"))
        if not ends or of_run(folder) != config:
            return None
        spent = latest(folder.record.bodies("spent"), "round", "stage")
        return Nested(
            harness=folder.record.get(Harness, str(ends[-1]["harness"])),
            version=str(ends[-1]["version"]),
            rollouts=sum(count for one in spent if isinstance(count := one["rollouts"], int)),
        )
