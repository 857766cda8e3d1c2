"""The composition root: from a configuration to peers on a bus over a run folder.

What is named in a configuration becomes an object in `evener.parts` and is put together here and
nowhere else; a script may hand in its own environment, model or critic instead.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

from evener.agents.budget import Meter
from evener.agents.bus import Bus
from evener.agents.conductor import Conductor
from evener.agents.critic import HarnessCritic
from evener.agents.harness.check import check
from evener.agents.leak import LeakGuard
from evener.agents.models.cache import CachedModel
from evener.agents.pattern import Background
from evener.agents.plan import Plan, collect_seed, derive
from evener.agents.record.manifest import Manifest
from evener.agents.record.registry import Registry
from evener.agents.record.run import RunFolder
from evener.agents.student import Student
from evener.agents.trainer import Trainer
from evener.agents.validator import Validator
from evener.choose import check_model, choose_critic, choose_tuner
from evener.config import RunConfig, of_run
from evener.parts import Basis, Parts, prepare
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.port import Critic, Environment, FineTuner, Model
from evener.protocols.summary import Summary
from evener.protocols.task import Split
from evener.protocols.wire import ModelServed, RunEnded, StartRun
from evener.reach import fits, noted
from evener.report.whole import End, summarize
from evener.roles import seated
from evener.searched import check_searched
from evener.trained import trained_model


class Team:
    """Student, HarnessCritic, Validator, Trainer and Conductor over one run folder."""

    def __init__(self, bus: Bus, folder: RunFolder, *, basis: Basis, start: StartRun) -> None:
        self.bus = bus
        self.folder = folder
        self.environment = basis.environment
        self._actions = basis.background.actions
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
        basis = await prepare(config, parts)
        async with (
            parts.student(config) as model,
            parts.critic_model(config, base=model) as judge,
        ):
            tuner = parts.tuner or choose_tuner(config, model, progress=parts.progress)
            fits(model, (basis.start, *basis.arms.values()))
            with (
                RunFolder.open(out, _manifest(config, basis, model, judge, parts)) as folder,
                noted(model, folder.record, folder.path),
            ):
                critic = parts.critic or choose_critic(
                    config, basis.background, seated(judge, "critic", folder)
                )
                bus = _assemble(config, folder, basis, model, tuner, critic, parts)
                record = folder.record
                message = StartRun(
                    harness=record.put(basis.start),
                    model=model.ref,
                    arms={name: record.put(harness) for name, harness in basis.arms.items()},
                )
                async with bus:
                    yield cls(bus, folder, basis=basis, start=message)

    @classmethod
    @asynccontextmanager
    async def reopen(cls, out: Path, *, parts: Parts | None = None) -> AsyncGenerator[Self]:
        """The team of a run that is there, with the configuration it was begun with. Its state
        stays what it was."""
        with RunFolder.read(out) as folder:
            check_searched(folder)
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

    def check(self, harness: Harness) -> None:
        """Raises HarnessError for one that does not fit the environment's actions."""
        check(harness, self._actions)

    async def serve(self, model: str) -> ModelRef:
        """The ref of `base`, or of a model that the run or an arm beside it trained, loaded beside
        the base. Raises ConfigError with the names there are."""
        if model == "base":
            return self.base
        request = trained_model(self.folder, model, where="--model")
        return (await self.bus.ask("student", request, ModelServed)).model

    async def run(self) -> Summary:
        """Run the plan to its end, or go on with it; writes `summary.json` and returns it."""
        ended = await self.bus.ask("conductor", self._start, RunEnded)
        assert self.folder.session is not None
        end: End = "budget" if ended.out_of_budget else "finished"
        self.folder.session.end_as(end)
        summary = summarize(self.folder, ended=end)
        self.folder.write("summary.json", summary.model_dump_json(indent=1) + "\n")
        return summary


async def rehearse(config: RunConfig) -> None:
    """Check all that can be checked without a model: names, files, settings, the gate's needs."""
    await prepare(config, Parts())
    check_model(config)


def _assemble(
    config: RunConfig,
    folder: RunFolder,
    basis: Basis,
    model: Model,
    tuner: FineTuner,
    critic: Critic,
    parts: Parts,
) -> Bus:
    record, plan = folder.record, config.plan
    environment, background = basis.environment, basis.background
    cached = CachedModel(model, folder.replies)
    meter = Meter(plan.budget, cpu_seconds=folder.cpu_seconds)
    bus = Bus(record)
    bus.terminal("round", "verdict", "commit", "model", "stop")
    bus.join(
        "student", Student(environment, cached, record, concurrency=config.student.concurrency)
    )
    bus.join("critic", HarnessCritic(critic, record))
    bus.join(
        "validator",
        Validator(
            environment,
            basis.gate,
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
            (Split.MINE, plan.training.collect_tasks, collect_seed(plan, n))
            for n in rounds
            if plan.training.method != "none"
        ),
    ]
    return LeakGuard(environment, background, draws)


def _manifest(
    config: RunConfig, basis: Basis, model: Model, judge: Model, parts: Parts
) -> Manifest:
    harnesses = (basis.start, *basis.arms.values())
    judging = {"critic": judge.ref.revision} if config.critic.kind == "model" else {}
    return Manifest.of(
        config.document(),
        digests={
            "environment": basis.environment.digest,
            "gate": basis.gate.digest,
            "student": model.ref.revision,
            **judging,
            **{f"harness {harness.name}": harness.digest() for harness in harnesses},
        },
        seeds={"run": config.plan.seed},
        names=parts.names(),
    )
