"""Whose blame is measured: the rules, a model by its name, or the control."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from evener.agents.critics import ModelCritic, RandomCritic, RuleCritic
from evener.agents.pattern import Background
from evener.bench.critic.accuracy import Judge
from evener.protocols.port import Critic, Progress
from evener.roles import named

_JUDGES: dict[str, Judge] = {"rule": "rule", "random": "control"}


def judge_of(name: str) -> Judge:
    """What kind of judge the name means: any other than `rule` and `random` is a model's."""
    return _JUDGES.get(name, "model")


@asynccontextmanager
async def judging(
    name: str, background: Background, *, api_base: str | None, progress: Progress
) -> AsyncGenerator[Critic]:
    """The critic; its model is closed when the block ends. Raises ModelError for a name that means
    nothing."""
    match judge_of(name):
        case "rule":
            yield RuleCritic(background)
        case "control":
            yield RandomCritic(background)
        case "model":
            async with named(name, "critic", api_base=api_base, progress=progress) as model:
                yield ModelCritic(model, background)
