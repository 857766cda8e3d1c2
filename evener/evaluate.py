"""Cells of a run outside its plan: any version, any trained model, any split, once or often.

A look at a sealed split is logged and counted, whoever takes it.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from evener.agents.ballot import answer, same_in
from evener.agents.record.registry import Registry
from evener.agents.rollouts import Rollouts
from evener.environments.scoring.figure import Figure, avg_at_k, maj_at_k
from evener.measure import look, measure
from evener.parts import Parts
from evener.protocols.digest import Wire
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.summary import Cell
from evener.protocols.task import Split
from evener.protocols.trajectory import Trajectory
from evener.team import Team


class Repeated(Wire):
    """Several sampled episodes a task. `average` is over tasks of the mean of their rewards,
    `majority` the share of tasks whose most frequent answer is right; `look` is the number of this
    look at a sealed split (0 for the others). Calls and tokens are those of all attempts."""

    name: str
    model: str
    harness: str
    split: str
    seed: int
    temperature: float
    average: Figure
    majority: Figure
    calls: int
    tokens: int
    look: int


async def evaluate(
    run: Path,
    *,
    version: str,
    model: str,
    split: Split,
    count: int,
    seed: int,
    parts: Parts,
) -> tuple[Cell, int]:
    """The cell, and the number of this look at a sealed split (0 for the others)."""
    async with _looking(run, version=version, model=model, split=split, parts=parts) as seen:
        found, _ = await seen.measure(count=count, seed=seed)
        return found, seen.look


async def repeated(
    run: Path,
    *,
    version: str,
    model: str,
    split: Split,
    count: int,
    seed: int,
    tries: int,
    temperature: float,
    parts: Parts,
) -> Repeated:
    """`tries` episodes of each task at `temperature`; an attempt that is finished is not run
    again."""
    async with _looking(run, version=version, model=model, split=split, parts=parts) as seen:
        rounds: list[list[Trajectory]] = []
        cells: list[Cell] = []
        for attempt in range(1, tries + 1):
            cell, episodes = await seen.measure(
                count=count, seed=seed, attempt=attempt, temperature=temperature
            )
            rounds.append(episodes)
            cells.append(cell)
        rewards = [[episode.reward for episode in episodes] for episodes in rounds]
        answers = [[answer(episode) for episode in episodes] for episodes in rounds]
        same = same_in(seen.team.environment)
        return Repeated(
            name=cells[0].name,
            model=cells[0].model,
            harness=cells[0].harness,
            split=split,
            seed=seed,
            temperature=temperature,
            average=avg_at_k(rewards),
            majority=await maj_at_k(answers, rewards, same=same),
            calls=sum(cell.calls for cell in cells),
            tokens=sum(cell.tokens for cell in cells),
            look=seen.look,
        )


@dataclass(frozen=True, kw_only=True)
class _Look:
    """An open run, and what of it is looked at."""

    team: Team
    harness: Harness
    version: str
    model: str
    ref: ModelRef
    split: Split
    look: int
    parts: Parts

    async def measure(
        self, *, count: int, seed: int, attempt: int = 0, temperature: float = 0.0
    ) -> tuple[Cell, list[Trajectory]]:
        """One episode for each task."""
        return await measure(
            Rollouts(self.team.bus, progress=self.parts.progress),
            self.team.folder,
            self.team.environment.tasks(self.split, count=count, seed=seed),
            harness=self.harness,
            model=self.ref,
            split=self.split,
            seed=seed,
            name=f"{self.model}+{self.version}",
            version=self.version,
            attempt=attempt,
            temperature=temperature,
        )


@asynccontextmanager
async def _looking(
    run: Path, *, version: str, model: str, split: Split, parts: Parts
) -> AsyncGenerator[_Look]:
    async with Team.reopen(run, parts=parts) as team:
        registry = Registry(team.folder.harness)
        name, harness = registry.head() if version == "HEAD" else (version, registry.get(version))
        team.check(harness)
        ref = await team.serve(model)
        yield _Look(
            team=team,
            harness=harness,
            version=name,
            model=model,
            ref=ref,
            split=split,
            look=look(team.folder.record, split, harness=name, model=str(ref)),
            parts=parts,
        )
