"""The composition root: from a configuration to peers on a bus over a run folder.

Everything that is named in a configuration becomes an object here and nowhere else; a script may
hand in its own environment, model or critic instead.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from evener.agents.budget import Meter
from evener.agents.bus import Bus
from evener.agents.conductor import Conductor
from evener.agents.critic import HarnessCritic
from evener.agents.harness.check import check
from evener.agents.leak import LeakGuard
from evener.agents.models.cache import CachedModel
from evener.agents.models.local.resolve import check_name
from evener.agents.pattern import Background
from evener.agents.pattern.background import published
from evener.agents.plan import Plan, derive
from evener.agents.record.manifest import Manifest
from evener.agents.record.registry import Registry
from evener.agents.record.run import RunFolder
from evener.agents.student import Student
from evener.agents.trainer import Trainer
from evener.agents.trial import REPEATS
from evener.agents.validator import Validator
from evener.choose import (
    choose_critic,
    choose_environment,
    choose_gate,
    choose_harness,
    choose_model,
    choose_tuner,
)
from evener.config import RunConfig, of_run
from evener.progress import Silent
from evener.protocols.error import ConfigError
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.port import Critic, Environment, FineTuner, Gate, Model, Progress
from evener.protocols.summary import Summary
from evener.protocols.task import Split
from evener.protocols.wire import RunEnded, StartRun
from evener.report.whole import summarize


@dataclass(kw_only=True)
class Parts:
    """The exchangeable parts of a team. None: what the configuration names."""

    environment: Environment | None = None
    model: Model | None = None
    critic: Critic | None = None
    gate: Gate | None = None
    tuner: FineTuner | None = None
    progress: Progress = field(default_factory=Silent)

    def with_model(self, model: Model) -> "Parts":
        """The same parts on this model, which the caller closes."""
        return replace(self, model=model)


class Team:
    """Student, HarnessCritic, Validator, Trainer and Conductor over one run folder."""

    def __init__(
        self, bus: Bus, folder: RunFolder, *, environment: Environment, start: StartRun
    ) -> None:
        self.bus = bus
        self.folder = folder
        self.environment = environment
        self._start = start

    @classmethod
    @asynccontextmanager
    async def open(
        cls, config: RunConfig, out: Path, *, parts: Parts | None = None
    ) -> AsyncGenerator[Self]:
        """Assemble the team and start its bus; go on with the run where `out` holds one.

        Raises UserError for anything in the configuration that cannot be used, before any episode.
        """
        parts = parts or Parts()
        environment = parts.environment or choose_environment(config)
        background = await published(environment)
        start = choose_harness(config.harness.start, environment)
        arms = {n: choose_harness(spec, environment) for n, spec in config.harness.arms.items()}
        for harness in (start, *arms.values()):
            check(harness, background.actions)
        gate = parts.gate or choose_gate(config)
        enough(environment, config, gate=gate)
        model = parts.model or choose_model(config)
        try:
            tuner = parts.tuner or choose_tuner(config, model, progress=parts.progress)
            manifest = _manifest(config, environment, gate, model, (start, *arms.values()))
            with RunFolder.open(out, manifest) as folder:
                bus = _assemble(config, folder, environment, background, gate, model, tuner, parts)
                record = folder.record
                message = StartRun(
                    harness=record.put(start),
                    model=model.ref,
                    arms={name: record.put(harness) for name, harness in arms.items()},
                )
                async with bus:
                    yield cls(bus, folder, environment=environment, start=message)
        finally:
            if parts.model is None:
                await model.close()

    @classmethod
    @asynccontextmanager
    async def reopen(cls, out: Path, *, parts: Parts | None = None) -> AsyncGenerator[Self]:
        """The team of a run that is there, with the configuration it was begun with. Its state
        stays what it was."""
        with RunFolder.read(out) as folder:
            config = of_run(folder)
            state = folder.state
        async with cls.open(config, out, parts=parts) as team:
            yield team
            if team.folder.session and state in ("finished", "budget"):
                team.folder.session.end_as(state)

    @property
    def base(self) -> ModelRef:
        """The student's base model."""
        return self._start.model

    async def run(self) -> Summary:
        """Run the plan to its end, or go on with it; writes `summary.json` and returns it."""
        ended = await self.bus.ask("conductor", self._start, RunEnded)
        assert self.folder.session is not None
        self.folder.session.end_as("budget" if ended.out_of_budget else "finished")
        summary = summarize(self.folder, finished=True)
        self.folder.write("summary.json", summary.model_dump_json(indent=1) + "\n")
        return summary


async def rehearse(config: RunConfig) -> None:
    """Check all that can be checked without a model: names, files, settings, the gate's needs."""
    environment = choose_environment(config)
    background = await published(environment)
    for spec in (config.harness.start, *config.harness.arms.values()):
        check(choose_harness(spec, environment), background.actions)
    enough(environment, config)
    check_name(config.student.model)


def enough(environment: Environment, config: RunConfig, *, gate: Gate | None = None) -> None:
    """Draw every split once at the size the plan asks for, those of the gate (None: that of the
    configuration) at the least with which it can accept anything, so that what is too small is
    named now and not after hours. Raises DataError, ConfigError for `plan.trials.rollouts`."""
    plan = config.plan
    collect = plan.training.collect_tasks if plan.training.method != "none" else 0
    held_in, held_out = _first_look(plan, gate or choose_gate(config))
    for split, count in (
        (Split.MINE, max(plan.search.mine_tasks, collect)),
        (Split.HELD_IN, held_in),
        (Split.HELD_OUT, held_out),
        (Split.TEST, plan.evaluation.test_tasks),
        (Split.OOD, plan.evaluation.ood_tasks),
    ):
        if count:
            environment.tasks(split, count=count, seed=plan.seed)


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


def _assemble(
    config: RunConfig,
    folder: RunFolder,
    environment: Environment,
    background: Background,
    gate: Gate,
    model: Model,
    tuner: FineTuner,
    parts: Parts,
) -> Bus:
    record, plan = folder.record, config.plan
    cached = CachedModel(model, folder.replies)
    meter = Meter(plan.budget, cpu_seconds=folder.cpu_seconds)
    bus = Bus(record)
    bus.terminal("round", "verdict", "commit", "model", "stop")
    bus.join(
        "student", Student(environment, cached, record, concurrency=config.student.concurrency)
    )
    bus.join("critic", HarnessCritic(parts.critic or choose_critic(config, background), record))
    bus.join(
        "validator",
        Validator(
            environment,
            gate,
            record,
            background=background,
            window=plan.window,
            progress=parts.progress,
        ),
    )
    bus.join("trainer", Trainer(tuner, record, folder.models))
    bus.join(
        "conductor",
        Conductor(
            environment,
            plan,
            store=record,
            log=record,
            registry=Registry(folder.harness, record),
            background=background,
            guard=_guard(environment, background, plan),
            meter=meter,
            progress=parts.progress,
        ),
    )
    return bus


def _guard(environment: Environment, background: Background, plan: Plan) -> LeakGuard:
    """Knows the tasks that this run draws to mine, to collect and for the sealed test, and as many
    of the gate's splits, of which every trial draws others."""
    sealed = derive(plan.seed, "sealed")
    test = plan.evaluation.test_tasks
    rounds = range(1, plan.rounds + 1)
    draws = [
        (Split.TEST, test, sealed),
        (Split.OOD, max(1, plan.evaluation.ood_tasks), sealed),
        (Split.HELD_IN, test, sealed),
        (Split.HELD_OUT, test, sealed),
        *((Split.MINE, plan.search.mine_tasks, derive(plan.seed, "mine", n)) for n in rounds),
        *(
            (Split.MINE, plan.training.collect_tasks, derive(plan.seed, "collect", n))
            for n in rounds
            if plan.training.method != "none"
        ),
    ]
    return LeakGuard(environment, background, draws)


def _manifest(
    config: RunConfig,
    environment: Environment,
    gate: Gate,
    model: Model,
    harnesses: tuple[Harness, ...],
) -> Manifest:
    return Manifest.of(
        config.document(),
        digests={
            "environment": environment.digest,
            "gate": gate.digest,
            "student": model.ref.revision,
            **{f"harness {harness.name}": harness.digest() for harness in harnesses},
        },
        seeds={"run": config.plan.seed},
    )
