"""The parts of a team: what a script hands in, and for the rest what the configuration names."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from evener.agents.pattern import Background
from evener.agents.pattern.background import published
from evener.choose import (
    check_named,
    check_training,
    choose_environment,
    choose_gate,
    choose_harness,
    choose_model,
)
from evener.config import RunConfig
from evener.enough import enough
from evener.progress import Silent
from evener.protocols.harness import Harness
from evener.protocols.port import Critic, Environment, FineTuner, Gate, Model, Progress
from evener.reach import farewell, reach
from evener.roles import playing


@dataclass(kw_only=True)
class Parts:
    """The exchangeable parts of a team. None: what the configuration names."""

    environment: Environment | None = None
    model: Model | None = None
    critic: Critic | None = None
    gate: Gate | None = None
    tuner: FineTuner | None = None
    progress: Progress = field(default_factory=Silent)

    def names(self) -> dict[str, str]:
        """What was handed in in place of what the configuration names."""
        found: dict[str, str] = {}
        if self.environment is not None:
            found["environment"] = self.environment.name
        if self.model is not None:
            found["student"] = self.model.ref.base
        return found

    def with_model(self, model: Model) -> "Parts":
        """The same parts on this model, which the caller closes."""
        return replace(self, model=model)

    @asynccontextmanager
    async def student(self, config: RunConfig) -> AsyncGenerator[Model]:
        """The model that was handed in; else the configured one, closed when the block ends."""
        if self.model is not None:
            yield self.model
            return
        model = choose_model(config)
        try:
            await reach(model, self.progress)
            yield model
        finally:
            farewell(model, self.progress)
            await model.close()

    @asynccontextmanager
    async def critic_model(self, config: RunConfig, *, base: Model) -> AsyncGenerator[Model]:
        """The model that blames: the one that the configuration names, else `base`."""
        spec = config.critic if config.critic.kind == "model" and not self.critic else None
        async with playing(
            spec,
            "critic",
            table="critic",
            base=base,
            student=config.student,
            progress=self.progress,
        ) as model:
            yield model

    @asynccontextmanager
    async def reviewer_model(self, config: RunConfig, *, base: Model) -> AsyncGenerator[Model]:
        """The model that reviews: the one that the configuration names, else `base`."""
        settings = config.distill
        named = settings is not None and settings.reviewer == "model"
        async with playing(
            settings.reviewer_model if settings is not None and named else None,
            "reviewer",
            table="distill.reviewer_model",
            base=base,
            student=config.student,
            progress=self.progress,
        ) as model:
            yield model


@dataclass(frozen=True, kw_only=True)
class Basis:
    """What a run stands on before there is a model: all of it is checked and fits together."""

    environment: Environment
    background: Background
    start: Harness
    arms: dict[str, Harness]
    gate: Gate


async def prepare(config: RunConfig, parts: Parts) -> Basis:
    """Raises UserError for anything in the configuration that cannot be used: names, files, sizes,
    what the gate needs."""
    environment = parts.environment or choose_environment(config)
    background = await published(environment)
    start = choose_harness(config.harness.start, environment)
    arms = {n: choose_harness(spec, environment) for n, spec in config.harness.arms.items()}
    check_named(config.harness.start, start, background.actions)
    for name, harness in arms.items():
        check_named(config.harness.arms[name], harness, background.actions)
    gate = parts.gate or choose_gate(config)
    check_training(config)
    enough(environment, config, gate=gate)
    return Basis(environment=environment, background=background, start=start, arms=arms, gate=gate)
