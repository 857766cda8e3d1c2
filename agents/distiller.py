"""The Distiller: collect reviewed runs, train on them, take the harness off, and measure.

It is the conductor of a run that ends without its harness. Everything is asked for on the bus; run
again on the same folder it asks the same questions, and what is in the store is not paid for twice.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal

from evener.agents.budget import Meter
from evener.agents.bus import Peer, answers
from evener.agents.plan import Plan, collect_seed, derive, train_seed
from evener.agents.rollouts import Rollouts
from evener.agents.rounds.harvest import collect_tasks, harvest, solved
from evener.agents.sealed import CellPlan, Sealed
from evener.agents.trials.supply import up_to
from evener.protocols.digest import JsonObject
from evener.protocols.model import ModelRef
from evener.protocols.port import Environment, Log, Progress
from evener.protocols.reference import EpisodeRef
from evener.protocols.summary import Arm
from evener.protocols.task import Purpose, Split
from evener.protocols.wire import (
    Announcement,
    DistillationEnded,
    ModelServed,
    ModelTrained,
    ServeModel,
    StartDistillation,
    TrainRequest,
)

MODEL = "m1"
CONTROL = "format"
FORMAT_TRAINER = "format_trainer"
Replicate = Literal["A", "B"]


class Distiller(Peer):
    """Answers a StartDistillation once the sealed test is done. `replicate_tasks` tasks of `test`,
    drawn apart from the sealed ones (a small split may give the same), are run twice at
    `temperature` for recovery; `control` also trains a student on the action format alone."""

    asks: ClassVar[tuple[str, ...]] = ("student", "trainer")
    may_ask: ClassVar[tuple[str, ...]] = (FORMAT_TRAINER,)
    publishes: ClassVar[tuple[str, ...]] = ("model", "stop")

    def __init__(
        self,
        environment: Environment,
        plan: Plan,
        *,
        log: Log,
        meter: Meter,
        progress: Progress,
        replicate_tasks: int,
        temperature: float,
        control: bool,
    ) -> None:
        super().__init__()
        self._environment = environment
        self._plan = plan
        self._log = log
        self._rollouts = Rollouts(self, window=plan.window, meter=meter, progress=progress)
        self._sealed = Sealed(
            environment, plan, rollouts=self._rollouts, cpu_seconds=meter.cpu_seconds
        )
        self._progress = progress
        self._replicate_tasks = replicate_tasks
        self._temperature = temperature
        self._control = control

    @answers
    async def run(self, message: StartDistillation) -> DistillationEnded:
        """The whole run, from replicate A to the last cell of the sealed test."""
        base, target = message.model, message.target
        arms = {"base+target": (base, target), "base+optimized": (base, message.optimized)}
        await self._replicate("A", arms)
        episodes = await self._collect(message)
        trained = await self._train("trainer", MODEL, message, episodes)
        self._log.append("trained", {"round": 1, **trained.document()})
        control: ModelRef | None = None
        if trained.model is not None and self._control:
            control = await self._train_control(message, episodes, limit=trained.trained_tokens)
        if trained.model is None:
            reason = f"no model: {trained.reason}"
        else:
            reason = "all is measured"
            arms["trained+target"] = (trained.model, target)
            if control is not None:
                arms[f"{CONTROL}+target"] = (control, target)
            await self._replicate("B", arms)
        await self._say("stop", reason)
        await self._sealed.run_all(
            cells(message, trained=trained.model, control=control), log=self._log
        )
        ended = DistillationEnded(model=trained.model, control=control, stop_reason=reason)
        in_force = trained.model or base
        body: JsonObject = {
            "stop_reason": reason,
            "version": "target",
            "harness": target,
            "model": in_force.document(),
        }
        self._log.append("ended", body)
        return ended

    async def _replicate(
        self, replicate: Replicate, arms: Mapping[str, tuple[ModelRef, str]]
    ) -> None:
        """Episodes for recovery: A picks the tasks, B on fresh seeds is measured."""
        if not self._replicate_tasks:
            return
        seed = derive(self._plan.seed, "recovery")
        tasks = up_to(self._environment, Split.TEST, count=self._replicate_tasks, seed=seed)
        for name, (model, harness) in arms.items():
            done = await self._rollouts.run(
                tasks,
                harness=harness,
                model=model,
                purpose=Purpose.EVALUATE,
                seed=derive(self._plan.seed, "recovery", replicate),
                temperature=self._temperature,
                label=f"replicate {replicate}: {name}",
            )
            body: JsonObject = {
                "replicate": replicate,
                "arm": name,
                "temperature": self._temperature,
                "episodes": [episode.trajectory for episode in done],
            }
            self._log.append("replicate", body)

    async def _collect(self, message: StartDistillation) -> tuple[EpisodeRef, ...]:
        """The student's own runs under the target, reviewed before anything is executed."""
        tasks = collect_tasks(self._environment, self._plan)
        done = await harvest(
            self._rollouts,
            tasks,
            harness=message.target,
            model=message.model,
            training=self._plan.training,
            seed=collect_seed(self._plan),
            review=message.review,
        )
        self._progress.say(
            f"collected {len(done)} reviewed episodes: {solved(done)} of {len(tasks)} tasks solved"
        )
        body: JsonObject = {
            "tasks": len(tasks),
            "solved": solved(done),
            "review": message.review,
            "episodes": [episode.trajectory for episode in done],
        }
        self._log.append("collected", body)
        return done

    async def _train_control(
        self, message: StartDistillation, episodes: tuple[EpisodeRef, ...], *, limit: int
    ) -> ModelRef | None:
        """The student of the action format alone, from the same episodes; `limit` is the tokens
        that the other one was trained on."""
        alone = await self._train(FORMAT_TRAINER, CONTROL, message, episodes)
        self._log.append("arm_model", {"arm": CONTROL, "asked": "", **alone.document()})
        fault = f"; no model: {alone.reason}" if alone.model is None else ""
        arm = Arm(
            name=CONTROL,
            rollouts=len(episodes),
            rollout_limit=len(episodes),
            trained_tokens=alone.trained_tokens,
            token_limit=limit,
            note=f"the action format alone{fault}",
        )
        self._log.append("arm", arm.document())
        return alone.model

    async def _train(
        self,
        trainer: str,
        name: str,
        message: StartDistillation,
        episodes: tuple[EpisodeRef, ...],
    ) -> ModelTrained:
        """An adapter that is served from then on, or why there is none."""
        self._progress.stage(f"training {name}", total=0)
        trained = await self.ask(
            trainer,
            TrainRequest(
                name=name,
                trajectories=tuple(episode.trajectory for episode in episodes),
                serving_harness=message.target,
                base=message.model,
                seed=train_seed(self._plan),
            ),
            ModelTrained,
        )
        if trained.model is None:
            await self._say("model", f"no model {name}: {trained.reason}")
            return trained
        await self.ask(
            "student", ServeModel(model=trained.model, folder=trained.folder), ModelServed
        )
        await self._say("model", f"{trained.model}: {trained.rows} rows")
        return trained

    async def _say(self, topic: Literal["model", "stop"], text: str) -> None:
        self._progress.say(text)
        await self.tell(topic, Announcement(topic=topic, round=1, iteration=0, text=text, about=""))


def cells(
    message: StartDistillation, *, trained: ModelRef | None, control: ModelRef | None
) -> tuple[CellPlan, ...]:
    """The sealed cells: both students with the harness and without it, and the control."""
    base, target, optimized = message.model, message.target, message.optimized

    def cell(student: str, model: ModelRef, label: str, harness: str) -> CellPlan:
        return CellPlan(name=f"{student}+{label}", model=model, harness=harness, label=label)

    plan = [cell("base", base, "target", target), cell("base", base, "optimized", optimized)]
    plan += [cell("base", base, name, digest) for name, digest in message.arms.items()]
    if trained is not None:
        plan.append(cell("trained", trained, "target", target))
        plan.append(cell("trained", trained, "optimized", optimized))
    if control is not None:
        plan.append(cell(CONTROL, control, "target", target))
    return tuple(plan)
