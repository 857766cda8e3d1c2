"""What a distillation teaches and to whom: harnesses and K, made and checked before any episode."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evener.adapt import adapted
from evener.agents.pattern.background import Background, published
from evener.agents.plan import derive
from evener.agents.reviewed import check_reviewable
from evener.agents.reviewers.own import check_readable
from evener.choose import check_named, check_training, choose_environment, choose_harness
from evener.config import DistillConfig, RoleModel, RunConfig
from evener.contender import named_harness
from evener.enough import draw
from evener.parts import Parts
from evener.protocols.error import ConfigError
from evener.protocols.harness import Harness
from evener.protocols.knowledge import Knowledge
from evener.protocols.port import Environment
from evener.protocols.task import Split
from evener.reviewing import emptied


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What is taught, before there is a model: all of it is checked and fits together."""

    environment: Environment
    background: Background
    target: Harness
    optimized: Harness
    arms: Mapping[str, Harness]
    knowledge: Knowledge
    """What the reviewer reads, which may be empty."""
    secret: Knowledge
    """All of K, of which nothing may stand in a row."""


def wanted(config: RunConfig) -> DistillConfig:
    """The table `[distill]`. Raises ConfigError where there is none."""
    if config.distill is None:
        raise ConfigError(
            "this configuration has no table [distill]",
            where="distill",
            remedy="add one, or use evener run",
        )
    if config.plan.training.method == "none":
        raise ConfigError(
            "nothing can be distilled into frozen weights",
            where="plan.training.method",
            remedy='use "lora", or "external"',
        )
    _heeded(config)
    _read(config.distill)
    return config.distill


def _heeded(config: RunConfig) -> None:
    """ConfigError for what only a search heeds: it was set for a reason, and nothing would obey."""
    default = RunConfig()
    given, usual = config.plan, default.plan
    idle = {
        "harness.start": config.harness.start != default.harness.start,
        "critic": config.critic != default.critic,
        "gate": config.gate != default.gate,
        "plan.rounds": given.rounds != usual.rounds,
        "plan.search": given.search != usual.search,
        "plan.trials": given.trials != usual.trials,
        "plan.budget": given.budget != usual.budget,
    }
    for key, differs in idle.items():
        if differs:
            raise ConfigError(
                "a distillation searches for nothing, and would not heed this",
                where=key,
                remedy="leave it out",
            )


def check_heeded(config: RunConfig) -> None:
    """ConfigError for a setting of a distillation that another one leaves without effect."""
    settings = wanted(config)
    nobody = settings.reviewer == "passthrough"
    usual = DistillConfig()
    idle = {
        "distill.review": (
            nobody and settings.review == "flagged",
            "the reviewer 'passthrough' is nobody to be asked",
        ),
        "distill.knowledge": (
            nobody and settings.knowledge == "empty",
            "the reviewer 'passthrough' reads no K",
        ),
        "distill.temperature": (
            not settings.replicate_tasks and settings.temperature != usual.temperature,
            "nothing is sampled where distill.replicate_tasks is 0",
        ),
        "distill.control": (
            settings.control and config.finetune.mask == "format",
            'the control is trained as finetune.mask = "format" has the student trained',
        ),
    }
    for key, (unheeded, why) in idle.items():
        if unheeded:
            remedy = "set it to false" if key == "distill.control" else "leave it out"
            raise ConfigError(why, where=key, remedy=remedy)


def _read(settings: DistillConfig) -> None:
    """ConfigError for a reviewer's model where the reviewer is none."""
    if settings.reviewer != "model" and settings.reviewer_model != RoleModel():
        raise ConfigError(
            f"the reviewer {settings.reviewer!r} asks no such model",
            where="distill.reviewer_model",
            remedy='leave it out, or set distill.reviewer = "model"',
        )


async def prepare(config: RunConfig, parts: Parts) -> Lesson:
    """Raises UserError for anything in the configuration that cannot be used: names, files, a
    harness for another environment, a target that cannot be reviewed, a K that does not fit, too
    few tasks."""
    settings = wanted(config)
    check_training(config)
    environment = parts.environment or choose_environment(config)
    background = await published(environment)
    target, _ = named_harness(settings.target, environment)
    optimized, _ = named_harness(settings.optimized, environment)
    arms = {n: choose_harness(spec, environment) for n, spec in config.harness.arms.items()}
    named = {settings.target: target, settings.optimized: optimized}
    named |= {config.harness.arms[name]: harness for name, harness in arms.items()}
    for spec, harness in named.items():
        check_named(spec, harness, background.actions)
    check_reviewable(target)
    if settings.reviewer == "own":
        check_readable(optimized)
    if optimized.digest() == target.digest():
        raise ConfigError(
            f"{settings.optimized} and {settings.target} are one harness: there is nothing to "
            "take off",
            where="distill.optimized",
            remedy="name the harness that helps the student, and the minimal one that stays",
        )
    draw(
        environment,
        {
            Split.MINE: config.plan.training.collect_tasks,
            Split.TEST: config.plan.evaluation.test_tasks,
            Split.OOD: config.plan.evaluation.ood_tasks,
        },
        seed=config.plan.seed,
    )
    # held against the tasks of the sealed test, among others
    made = await adapted(
        optimized,
        target,
        environment=environment,
        seed=derive(config.plan.seed, "sealed"),
        file=None if settings.knowledge in ("adapted", "empty") else Path(settings.knowledge),
    )
    whole = made.knowledge
    return Lesson(
        environment=environment,
        background=background,
        target=target,
        optimized=optimized,
        arms=arms,
        knowledge=emptied(whole) if settings.knowledge == "empty" else whole,
        secret=whole,
    )
