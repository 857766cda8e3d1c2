"""Where an arm of a co-evolution run is made: the run's own team, its store, its sealed tasks."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from evener.agents.sealed import CellPlan
from evener.matrix.findings import Findings, calls_per_task
from evener.matrix.history import History, Version
from evener.parts import Parts
from evener.protocols.model import ModelRef
from evener.protocols.port import Environment, Model
from evener.team import Team


class Scorer(Findings):
    """An open run in which an arm makes its episodes and writes its findings."""

    def __init__(self, team: Team, history: History, parts: Parts) -> None:
        super().__init__(team.bus, team.folder, team.environment, history.config.plan, parts)
        self.team = team

    async def cell(
        self, name: str, *, model: ModelRef, harness: Version, ood: bool = False
    ) -> float:
        """Score a cell on `test`, and on `ood` where that is asked for and the plan has tasks of
        it; model calls a task on `test`."""
        await self.team.serve(model.adapter or "base")
        cell = CellPlan(name=name, model=model, harness=harness.digest, label=harness.label)
        episodes = await self.score(cell, ood=ood)
        return calls_per_task(episodes, tasks=len(episodes))


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
