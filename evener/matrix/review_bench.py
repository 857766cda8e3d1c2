"""Where an arm of a distillation is made: a student and reviewers over the run's own folder.

K and the reviewers are made as the run made them; the run's manifest holds K's digest, so another K
is refused. Nothing is trained and nothing is served but the base.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from evener.agents.bus import Bus
from evener.agents.harnessing import HarnessingAgent
from evener.agents.models.cache import CachedModel
from evener.agents.record.run import RunFolder
from evener.agents.reviewers import ActionSpace
from evener.agents.reviewers.account import count_reviews
from evener.agents.sealed import CellPlan
from evener.agents.student import HARNESSING, Student
from evener.config import DistillConfig
from evener.distillation import manifest
from evener.lesson import Lesson
from evener.matrix.distilled import Distilled
from evener.matrix.findings import Findings, calls_per_task
from evener.parts import Parts
from evener.protocols.knowledge import Knowledge
from evener.protocols.port import Model
from evener.protocols.summary import Arm, ReviewCounts
from evener.reviewing import choose_reviewer
from evener.roles import seated


class Reviewing(NamedTuple):
    """A cell whose responses are reviewed: as `settings` say, by one that reads `knowledge`."""

    cell: CellPlan
    settings: DistillConfig
    knowledge: Knowledge
    ood: bool = False


@dataclass(frozen=True, kw_only=True)
class ReviewBench:
    """A finished distillation and the parts to go on with it. The models, the student's and the
    one that may review, outlive every opening."""

    run: Path
    history: Distilled
    lesson: Lesson
    model: Model
    reader: Model
    parts: Parts

    @asynccontextmanager
    async def open(
        self, reviewed: Sequence[Reviewing] = (), *, student: Model | None = None
    ) -> AsyncGenerator[tuple[Findings, list[CellPlan]]]:
        """The run with a student (the base, or another `student`) and a reviewer for each cell, and
        the cells, which name them. The run stays finished."""
        config, lesson = self.history.config, self.lesson
        with RunFolder.open(self.run, manifest(config, lesson, self.model, self.parts)) as folder:
            assert folder.session is not None
            folder.session.end_as("finished")
            cached = CachedModel(self.model, folder.replies)
            reader = seated(self.reader, "reviewer", folder)
            space = ActionSpace(lesson.target, lesson.background.actions)
            reviewers = [
                choose_reviewer(
                    one.settings, cached, lesson.optimized, one.knowledge, space, reader=reader
                )
                for one in reviewed
            ]
            bus = Bus(folder.record)
            bus.join(
                "student",
                Student(
                    lesson.environment,
                    student or cached,
                    folder.record,
                    concurrency=config.student.concurrency,
                ),
            )
            bus.join(HARNESSING, HarnessingAgent(reviewers, space, folder.record))
            cells = [
                one.cell.model_copy(update={"review": reviewer.digest})
                for one, reviewer in zip(reviewed, reviewers, strict=True)
            ]
            async with bus:
                yield Findings(bus, folder, lesson.environment, config.plan, self.parts), cells

    async def score(self, *reviewed: Reviewing, student: Model | None = None) -> str:
        """Score the cells and note what each takes a task, its reviewer's calls with it; in words,
        what reviewing came to."""
        said: list[str] = []
        async with self.open(reviewed, student=student) as (findings, cells):
            for one, cell in zip(reviewed, cells, strict=True):
                episodes = await findings.score(cell, ood=one.ood)
                held = {episode.episode for episode in episodes}
                entries = [b for b in findings.record.bodies("review") if b["episode"] in held]
                counts = count_reviews(entries, review=cell.review)
                tasks = len(episodes)
                own = calls_per_task(episodes, tasks=tasks)
                more = counts.calls / max(1, tasks)
                note = f"{_shares(counts)}; of the calls {more:.2f} are the reviewer's"
                arm = Arm(name=cell.name, calls_per_task=own + more, note=note)
                findings.note("arm", arm, same=("name",))
                said.append(f"{cell.name}: {own + more:.2f} calls a task, {note}")
        return "; ".join(said)


def _shares(counts: ReviewCounts) -> str:
    return (
        f"{counts.reviewed} of {counts.candidates} responses reviewed, {counts.replaced} replaced"
    )
