"""The composition root of `evener distill`: from a configuration to peers over a run folder.

    adapt → replicate A → collect under review → train → take the harness off → replicate B → test

K and the detectors are made, checked and logged before the first episode.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self

from evener.agents.budget import Meter
from evener.agents.bus import Bus
from evener.agents.distiller import FORMAT_TRAINER, Distiller
from evener.agents.harnessing import HarnessingAgent
from evener.agents.models.cache import CachedModel
from evener.agents.record.manifest import Manifest
from evener.agents.record.run import RunFolder
from evener.agents.reviewers import ActionSpace
from evener.agents.student import HARNESSING, Student
from evener.agents.trainer import Trainer
from evener.choose import choose_tuner
from evener.config import RunConfig
from evener.distill.detectors import detectors_of, frozen
from evener.distill.rows.marker import Markers, markers_of
from evener.lesson import Lesson, check_heeded, prepare, wanted
from evener.parts import Parts
from evener.protocols.error import RunError
from evener.protocols.port import Model
from evener.protocols.summary import Summary
from evener.protocols.wire import DistillationEnded, StartDistillation
from evener.recovered import note_recovery
from evener.report.whole import summarize
from evener.reviewing import choose_reviewer
from evener.roles import seated


class Distillation:
    """Student, HarnessingAgent, Trainers and Distiller over one run folder."""

    def __init__(self, bus: Bus, folder: RunFolder, *, lesson: Lesson, start: StartDistillation):
        self.bus = bus
        self.folder = folder
        self.lesson = lesson
        self.start = start

    @classmethod
    @asynccontextmanager
    async def open(
        cls, config: RunConfig, out: Path, *, parts: Parts | None = None
    ) -> AsyncGenerator[Self]:
        """Assemble the team and start its bus; go on with the run where `out` holds one.

        Raises UserError for anything in the configuration that cannot be used, before any episode.
        """
        parts = parts or Parts()
        check_heeded(config)
        lesson = await prepare(config, parts)
        async with (
            parts.student(config) as model,
            parts.reviewer_model(config, base=model) as reader,
        ):
            with RunFolder.open(out, manifest(config, lesson, model, parts)) as folder:
                _note(folder, lesson)
                record = folder.record
                cached = CachedModel(model, folder.replies)
                space = ActionSpace(lesson.target, lesson.background.actions)
                reviewer = choose_reviewer(
                    wanted(config),
                    cached,
                    lesson.optimized,
                    lesson.knowledge,
                    space,
                    reader=seated(reader, "reviewer", folder),
                )
                bus = Bus(record)
                bus.terminal("model", "stop")
                concurrency = config.student.concurrency
                bus.join(
                    "student",
                    Student(lesson.environment, cached, record, concurrency=concurrency),
                )
                bus.join(HARNESSING, HarnessingAgent([reviewer], space, record))
                _join_trainers(bus, config, folder, lesson, model, parts)
                bus.join("distiller", _distiller(config, folder, lesson, parts))
                start = StartDistillation(
                    target=record.put(lesson.target),
                    optimized=record.put(lesson.optimized),
                    model=model.ref,
                    review=reviewer.digest,
                    arms={name: record.put(harness) for name, harness in lesson.arms.items()},
                )
                async with bus:
                    yield cls(bus, folder, lesson=lesson, start=start)

    async def run(self) -> Summary:
        """Run it to its end, or go on with it; writes `summary.json` and returns it."""
        ended = await self.bus.ask("distiller", self.start, DistillationEnded)
        if ended.model is not None:
            note_recovery(self.folder, self.lesson.optimized, self.lesson.environment)
        assert self.folder.session is not None
        self.folder.session.end_as("finished")
        summary = summarize(self.folder, ended="finished")
        self.folder.write("summary.json", summary.model_dump_json(indent=1) + "\n")
        return summary


def _join_trainers(
    bus: Bus, config: RunConfig, folder: RunFolder, lesson: Lesson, model: Model, parts: Parts
) -> None:
    """The trainer, and where there is a control the one that trains on the format alone."""
    record = folder.record

    def markers() -> Markers:
        # asked for when rows are made, for reviews are added all the time
        return markers_of(
            lesson.secret, lesson.optimized, lesson.target, reviews=record.bodies("review")
        )

    masks = {"trainer": config.finetune.mask}
    if wanted(config).control:
        masks[FORMAT_TRAINER] = "format"
    for name, mask in masks.items():
        finetune = config.finetune.model_copy(update={"mask": mask})
        tuner = parts.tuner or choose_tuner(
            config.model_copy(update={"finetune": finetune}),
            model,
            progress=parts.progress,
            markers=markers,
        )
        bus.join(name, Trainer(tuner, record, folder.models))


def _distiller(config: RunConfig, folder: RunFolder, lesson: Lesson, parts: Parts) -> Distiller:
    settings = wanted(config)
    return Distiller(
        lesson.environment,
        config.plan,
        log=folder.record,
        meter=Meter(config.plan.budget, cpu_seconds=folder.cpu_seconds),
        progress=parts.progress,
        replicate_tasks=settings.replicate_tasks,
        temperature=settings.temperature,
        control=settings.control,
    )


def _note(folder: RunFolder, lesson: Lesson) -> None:
    """Log K and the frozen detectors, once. Raises RunError for a run that was begun with other
    detectors: those could be fitted to what its student came to do."""
    record = folder.record
    found = frozen(detectors_of(lesson.optimized, lesson.environment))
    known = [body["digest"] for body in record.bodies("detectors")]
    if not known:
        record.append("detectors", {"digest": found})
    elif known[0] != found:
        raise RunError(
            "its detectors were others when it was begun",
            where=str(folder.path),
            remedy="go on with the environment and the evener that began it, or begin another run",
        )
    if not list(record.bodies("knowledge")):
        record.append(
            "knowledge",
            {"digest": lesson.knowledge.digest(), "document": lesson.knowledge.document()},
        )


def manifest(config: RunConfig, lesson: Lesson, model: Model, parts: Parts) -> Manifest:
    """What decides a distillation's result, K among it."""
    harnesses = (lesson.target, lesson.optimized, *lesson.arms.values())
    return Manifest.of(
        config.document(),
        digests={
            "environment": lesson.environment.digest,
            "student": model.ref.revision,
            "knowledge": lesson.knowledge.digest(),
            **{f"harness {harness.name}": harness.digest() for harness in harnesses},
        },
        seeds={"run": config.plan.seed},
        names=parts.names(),
    )
