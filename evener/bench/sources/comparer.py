"""The Comparer: every source collects on the same tasks, trains in the same way, and its student
takes the same sealed test.

Everything is asked for on the bus. Run again on the same folder it asks the same questions, and
what is in the store is not paid for twice.
"""

from collections.abc import Sequence
from typing import ClassVar

from evener.agents.budget import Meter
from evener.agents.bus import Peer, answers
from evener.agents.plan import Plan, collect_seed, train_seed
from evener.agents.rollouts import Rollouts
from evener.agents.rounds.harvest import collect_tasks, harvest, solved
from evener.agents.sealed import CellPlan, Sealed
from evener.bench.sources.message import CompareSources, Source, SourcesCompared
from evener.protocols.digest import JsonObject
from evener.protocols.model import ModelRef
from evener.protocols.port import Environment, Log, Progress
from evener.protocols.reference import EpisodeRef
from evener.protocols.task import Split
from evener.protocols.wire import (
    ModelServed,
    ModelTrained,
    ServeModel,
    TrainRequest,
)

BASE = "base+target"


class Comparer(Peer):
    """Answers a CompareSources once the last student is scored. Each source names the peers that
    act and train for it."""

    asks: ClassVar[tuple[str, ...]] = ("student",)

    def __init__(
        self, environment: Environment, plan: Plan, *, log: Log, meter: Meter, progress: Progress
    ) -> None:
        super().__init__()
        self._environment = environment
        self._plan = plan
        self._log = log
        self._meter = meter
        self._progress = progress
        self._sealed = Sealed(
            environment, plan, rollouts=self._rollouts("student"), cpu_seconds=meter.cpu_seconds
        )

    @answers
    async def compare(self, message: CompareSources) -> SourcesCompared:
        """Collect and train for all sources, then the sealed test, so that none saw it before."""
        students: dict[str, ModelTrained] = {}
        for number, source in enumerate(message.sources, start=1):
            self._progress.say(f"source {number} of {len(message.sources)}: {source.slug}")
            episodes = await self._collect(source)
            students[source.slug] = await self._train(source, message, episodes)
        await self._score(BASE, message.base, message.target)
        for slug, trained in students.items():
            if trained.model is not None:
                serve = ServeModel(model=trained.model, folder=trained.folder)
                await self.ask("student", serve, ModelServed)
                await self._score(f"{slug}+target", trained.model, message.target)
        return SourcesCompared(students={slug: made.model for slug, made in students.items()})

    async def _collect(self, source: Source) -> tuple[EpisodeRef, ...]:
        """The source's runs; those of the first, greedy pass come first in its log entry."""
        before = self._meter.cpu_seconds()
        tasks = collect_tasks(self._environment, self._plan)
        done = await harvest(
            self._rollouts(source.student),
            tasks,
            harness=source.harness,
            model=source.model,
            training=self._plan.training,
            seed=collect_seed(self._plan),
            review=source.review,
        )
        self._progress.say(f"{len(done)} episodes: {solved(done)} of {len(tasks)} tasks solved")
        body: JsonObject = {
            "source": source.slug,
            "review": source.review,
            "tasks": len(tasks),
            "solved": solved(done),
            "episodes": [episode.trajectory for episode in done],
            "cpu_seconds": self._meter.cpu_seconds() - before,
        }
        self._log.append("source", body)
        return done

    async def _train(
        self, source: Source, message: CompareSources, episodes: Sequence[EpisodeRef]
    ) -> ModelTrained:
        before = self._meter.cpu_seconds()
        self._progress.stage(f"training {source.slug}", total=0)
        trained = await self.ask(
            source.trainer,
            TrainRequest(
                name=source.slug,
                trajectories=tuple(episode.trajectory for episode in episodes),
                serving_harness=message.target,
                base=message.base,
                seed=train_seed(self._plan),
            ),
            ModelTrained,
        )
        body: JsonObject = {
            "arm": source.slug,
            "asked": "",
            "cpu_seconds": self._meter.cpu_seconds() - before,
            **trained.document(),
        }
        self._log.append("arm_model", body)
        said = f"{trained.rows} rows" if trained.model is not None else trained.reason
        self._progress.say(f"{source.slug}: {said}")
        return trained

    async def _score(self, name: str, model: ModelRef, harness: str) -> None:
        cell = CellPlan(name=name, model=model, harness=harness, label="target")
        episodes, seconds = await self._sealed.run(cell, Split.TEST)
        entry = self._sealed.entry(cell, Split.TEST, episodes, cpu_seconds=seconds)
        self._log.append("cell", entry)

    def _rollouts(self, student: str) -> Rollouts:
        return Rollouts(
            self,
            window=self._plan.window,
            meter=self._meter,
            progress=self._progress,
            student=student,
        )
