"""The composition root of `evener bench sources`: six sources of training data over one run folder.

    each source: collect on the same tasks → train → take the harness off;   then one sealed test

It takes a configuration of `evener distill`, and collects on the tasks that this would collect on.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

from evener.agents.budget import Meter
from evener.agents.bus import Bus
from evener.agents.harnessing import HarnessingAgent
from evener.agents.models.cache import CachedModel
from evener.agents.plan import collect_seed
from evener.agents.record.manifest import Manifest
from evener.agents.record.run import RunFolder
from evener.agents.reviewers import ActionSpace
from evener.agents.rounds.harvest import collect_tasks
from evener.agents.student import HARNESSING, Student
from evener.agents.trainer import Trainer
from evener.bench.sources.comparer import Comparer
from evener.bench.sources.found import table_of
from evener.bench.sources.gold import Gold, gold_of
from evener.bench.sources.knowing import KnowingReviewer
from evener.bench.sources.message import CompareSources, Source, SourcesCompared
from evener.bench.sources.page import page
from evener.bench.sources.result import SourceTable
from evener.bench.sources.speaker import Speaker
from evener.bench.sources.teacher import Teacher
from evener.choose import choose_tuner
from evener.config import RunConfig
from evener.distill.rows.marker import Markers, markers_of
from evener.estimate import Estimate, Stage
from evener.lesson import Lesson, prepare, wanted
from evener.parts import Parts
from evener.protocols.error import ConfigError
from evener.protocols.model import ModelRef
from evener.protocols.port import Model, Reviewer
from evener.reviewing import choose_reviewer, emptied
from evener.roles import seated

SOURCES: Mapping[str, str] = {
    "gold": "the teacher's own runs",
    "teacher_optimized": "the teacher under h*",
    "student_optimized": "the student under h*",
    "review_empty": "review, empty K",
    "review_knowing": "review that knows the answer",
    "review_k": "review with K",
}
GOLDEN: Sequence[str] = ("gold", "teacher_optimized", "review_knowing")
PLAIN = "trainer"


class SourceBench:
    """Students, teachers, HarnessingAgent, Trainers and Comparer over one run folder."""

    def __init__(
        self, bus: Bus, folder: RunFolder, *, start: CompareSources, missing: Mapping[str, str]
    ) -> None:
        self.bus = bus
        self.folder = folder
        self.start = start
        self.missing = missing

    @classmethod
    @asynccontextmanager
    async def open(
        cls, config: RunConfig, out: Path, *, parts: Parts | None = None
    ) -> AsyncGenerator[Self]:
        """Assemble the team and start its bus; go on where `out` holds such a run.

        Raises UserError for anything in the configuration that cannot be used, before any episode.
        """
        parts = parts or Parts()
        lesson = await checked(config, parts)
        gold = gold_of(lesson.environment, collect_tasks(lesson.environment, config.plan))
        async with (
            parts.student(config) as model,
            parts.reviewer_model(config, base=model) as reader,
        ):
            with RunFolder.open(out, _manifest(config, lesson, model, gold)) as folder:
                made = _Assembly(config, folder, lesson, model, reader, gold, parts)
                missing = dict.fromkeys(GOLDEN, _unknown(lesson)) if gold is None else {}
                start = CompareSources(
                    base=model.ref, target=made.target, sources=tuple(made.sources)
                )
                async with made.bus:
                    yield cls(made.bus, folder, start=start, missing=missing)

    async def run(self, *, command: str = "evener bench sources") -> SourceTable:
        """Run it to its end, or go on with it; writes `sources.json` and `sources.md`."""
        await self.bus.ask("comparer", self.start, SourcesCompared)
        assert self.folder.session is not None
        self.folder.session.end_as("finished")
        found = table_of(self.folder, self.start, labels=SOURCES, missing=self.missing)
        self.folder.write("sources.json", found.model_dump_json(indent=1) + "\n")
        self.folder.write("sources.md", page(found, self.folder.manifest, command=command))
        return found


class _Assembly:
    """The peers, and the sources that name them."""

    def __init__(
        self,
        config: RunConfig,
        folder: RunFolder,
        lesson: Lesson,
        model: Model,
        reader: Model,
        gold: Gold | None,
        parts: Parts,
    ) -> None:
        self.bus = Bus(folder.record)
        self._config = config
        self._folder = folder
        self._lesson = lesson
        self._model = model
        self._parts = parts
        record = folder.record
        self.target = record.put(lesson.target)
        self._optimized = record.put(lesson.optimized)
        cached = CachedModel(model, folder.replies)
        seated_reader = seated(reader, "reviewer", folder)
        space = ActionSpace(lesson.target, lesson.background.actions)
        self._student("student", cached)
        self._trainer(PLAIN, None)
        found: list[Source] = []
        reviewers: dict[str, Reviewer] = {}
        if gold is not None:
            found += self._teachers(gold)
        found.append(
            Source(
                slug="student_optimized",
                student="student",
                model=model.ref,
                harness=self._optimized,
                trainer=PLAIN,
            )
        )
        settings, whole = wanted(config), lesson.secret
        for slug, knowledge in (("review_empty", emptied(whole)), ("review_k", whole)):
            reviewers[slug] = choose_reviewer(
                settings, cached, lesson.optimized, knowledge, space, reader=seated_reader
            )
        if gold is not None:
            speaker = Speaker(gold, lesson.target, seed=collect_seed(config.plan))
            reviewers["review_knowing"] = KnowingReviewer(gold, speaker, space)
        found += [self._reviewed(slug, reviewer) for slug, reviewer in reviewers.items()]
        self.bus.join(HARNESSING, HarnessingAgent(reviewers.values(), space, record))
        self.bus.join(
            "comparer",
            Comparer(
                lesson.environment,
                config.plan,
                log=record,
                meter=Meter(config.plan.budget, cpu_seconds=folder.cpu_seconds),
                progress=parts.progress,
            ),
        )
        self.sources: Sequence[Source] = sorted(
            found, key=lambda one: list(SOURCES).index(one.slug)
        )

    def _teachers(self, gold: Gold) -> list[Source]:
        """One under the target, and one under h*, with h*'s own tools first."""
        lesson, seed = self._lesson, collect_seed(self._config.plan)
        own = {tool.name for tool in lesson.optimized.tools}
        own -= {tool.name for tool in lesson.target.tools}
        plain = Teacher(gold, Speaker(gold, lesson.target, seed=seed), lesson.target)
        speaker = Speaker(gold, lesson.optimized, own=frozenset(own), seed=seed)
        guided = Teacher(gold, speaker, lesson.optimized)
        self._student("teacher", plain)
        self._student("guided_teacher", guided)
        return [
            self._taught("gold", "teacher", plain.ref, self.target),
            self._taught("teacher_optimized", "guided_teacher", guided.ref, self._optimized),
        ]

    @staticmethod
    def _taught(slug: str, student: str, model: ModelRef, harness: str) -> Source:
        return Source(slug=slug, student=student, model=model, harness=harness, trainer=PLAIN)

    def _reviewed(self, slug: str, reviewer: Reviewer) -> Source:
        """A source under review, with a trainer that knows the private side of this reviewer."""
        trainer = f"{PLAIN}_{slug}"
        self._trainer(trainer, reviewer.digest)
        return Source(
            slug=slug,
            student="student",
            model=self._model.ref,
            harness=self.target,
            review=reviewer.digest,
            trainer=trainer,
        )

    def _student(self, name: str, model: Model) -> None:
        concurrency = self._config.student.concurrency
        peer = Student(
            self._lesson.environment, model, self._folder.record, concurrency=concurrency
        )
        self.bus.join(name, peer)

    def _trainer(self, name: str, review: str | None) -> None:
        lesson, record = self._lesson, self._folder.record

        def markers() -> Markers:
            # asked for when rows are made; of this source alone, so that what other sources find
            # later does not change its rows
            own = (body for body in record.bodies("review") if body["review"] == review)
            return markers_of(lesson.secret, lesson.optimized, lesson.target, reviews=own)

        tuner = self._parts.tuner or choose_tuner(
            self._config,
            self._model,
            progress=self._parts.progress,
            markers=None if review is None else markers,
        )
        self.bus.join(name, Trainer(tuner, record, self._folder.models))


async def checked(config: RunConfig, parts: Parts) -> Lesson:
    """What is taught. Raises UserError for a configuration that the bench cannot use."""
    if wanted(config).reviewer == "passthrough":
        raise ConfigError(
            "this reviewer reads no K, so that nothing can be said of K",
            where="distill.reviewer",
            remedy='use "own", "recipe" or "model"',
        )
    return await prepare(config, parts)


def expected(config: RunConfig) -> Estimate:
    """Bounds in episodes and rows. What reviewing takes comes on top."""
    plan = config.plan
    collect = len(SOURCES) * plan.training.collect_tasks
    stages = (
        Stage(name="collecting", rollouts=collect * (1 + plan.training.resamples)),
        Stage(name="sealed test", rollouts=(1 + len(SOURCES)) * plan.evaluation.test_tasks),
    )
    return Estimate(
        stages=stages,
        rollouts=sum(stage.rollouts for stage in stages),
        training_rows=collect,
        cpu_seconds=None,
    )


def _unknown(lesson: Lesson) -> str:
    return f"not available: {lesson.environment.name} replays no right solution"


def _manifest(config: RunConfig, lesson: Lesson, model: Model, gold: Gold | None) -> Manifest:
    return Manifest.of(
        config.document(),
        digests={
            "bench": "sources",
            "environment": lesson.environment.digest,
            "student": model.ref.revision,
            "knowledge": lesson.secret.digest(),
            "gold": gold.digest if gold is not None else "none",
            f"target {lesson.target.name}": lesson.target.digest(),
            f"optimized {lesson.optimized.name}": lesson.optimized.digest(),
        },
        seeds={"run": config.plan.seed},
    )
