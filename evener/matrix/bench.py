"""Where an arm is run: the run's own team, its store, its sealed tasks.

What is written is what the arm found, once: the same finding again adds no entry to the log.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from evener.agents.record.store import Record
from evener.agents.rollouts import Rollouts
from evener.agents.sealed import CellPlan, Sealed
from evener.matrix.history import History, Version
from evener.parts import Parts
from evener.protocols.digest import JsonObject, Wire
from evener.protocols.model import ModelRef
from evener.protocols.port import Environment, Model
from evener.protocols.reference import EpisodeRef
from evener.protocols.task import Split
from evener.team import Team


class Scorer:
    """An open run in which an arm makes its episodes and writes its findings."""

    def __init__(self, team: Team, history: History, parts: Parts) -> None:
        self.team = team
        self.record: Record = team.folder.record
        plan = history.config.plan
        self.rollouts = Rollouts(team.bus, window=plan.window, progress=parts.progress)
        self.sealed = Sealed(
            team.environment,
            plan,
            rollouts=self.rollouts,
            cpu_seconds=team.folder.cpu_seconds,
        )

    async def cell(
        self, name: str, *, model: ModelRef, harness: Version, ood: bool = False
    ) -> float:
        """Score a cell on `test`, and on `ood` where that is asked for and the plan has tasks of
        it; model calls a task on `test`."""
        await self.team.serve(model.adapter or "base")
        calls = 0.0
        cell = CellPlan(name=name, model=model, harness=harness.digest, label=harness.label)
        for split in self.sealed.splits:
            if split is Split.OOD and not ood:
                continue
            episodes, seconds = await self.sealed.run(cell, split)
            if split is Split.TEST:
                calls = calls_per_task(episodes, tasks=len(episodes))
            entry = self.sealed.entry(cell, split, episodes, cpu_seconds=seconds)
            self.note("cell", entry, same=("name", "split"), apart=("cpu_seconds",))
        return calls

    def note(
        self,
        kind: str,
        body: JsonObject | Wire,
        *,
        same: Sequence[str],
        apart: Sequence[str] = (),
    ) -> None:
        """Write an entry, unless the last one of its kind that agrees in the fields `same` says
        this already; fields `apart` do not count."""
        entry = body.document() if isinstance(body, Wire) else body
        known = [b for b in self.record.bodies(kind) if all(b.get(k) == entry[k] for k in same)]
        if not known or any(known[-1].get(k) != entry[k] for k in entry if k not in apart):
            self.record.append(kind, entry)


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A finished run and the parts to go on with it. The model outlives every team."""

    run: Path
    history: History
    environment: Environment
    model: Model
    parts: Parts

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Scorer]:
        """The run's team, until the block ends. The run stays as finished as it was."""
        async with Team.reopen(self.run, parts=self.own()) as team:
            assert team.folder.session is not None
            team.folder.session.end_as(self.history.state)
            yield Scorer(team, self.history, self.parts)

    def own(self) -> Parts:
        """The parts of a team on the shared model."""
        return replace(self.parts, environment=self.environment, model=self.model)

    def say(self, text: str) -> None:
        """One line for a person."""
        self.parts.progress.say(text)


def calls_per_task(episodes: Sequence[EpisodeRef], *, tasks: int) -> float:
    """Model calls that the episodes took, for each of so many tasks."""
    return sum(episode.calls for episode in episodes) / max(1, tasks)
