"""An open run into which cells are scored, and what its log is told of them, each finding once.

Cells are run on the sealed tasks and the seed of the run's own; an episode that its store has is
not run again, and the same finding again adds no entry.
"""

from collections.abc import Sequence

from evener.agents.plan import Plan
from evener.agents.record.run import RunFolder
from evener.agents.record.store import Record
from evener.agents.rollouts import Asker, Rollouts
from evener.agents.sealed import CellPlan, Sealed
from evener.parts import Parts
from evener.protocols.digest import JsonObject, Wire
from evener.protocols.port import Environment
from evener.protocols.reference import EpisodeRef
from evener.protocols.task import Split


class Findings:
    """`bus` has a student, `folder` is the run's with a session."""

    def __init__(
        self, bus: Asker, folder: RunFolder, environment: Environment, plan: Plan, parts: Parts
    ) -> None:
        self.record: Record = folder.record
        self.environment = environment
        self.rollouts = Rollouts(bus, window=plan.window, progress=parts.progress)
        self.sealed = Sealed(
            environment, plan, rollouts=self.rollouts, cpu_seconds=folder.cpu_seconds
        )

    async def score(self, cell: CellPlan, *, ood: bool = False) -> tuple[EpisodeRef, ...]:
        """Score a cell on `test`, and on `ood` where that is asked for and the plan has tasks of
        it; the episodes on `test`."""
        found: tuple[EpisodeRef, ...] = ()
        for split in self.sealed.splits:
            if split is Split.OOD and not ood:
                continue
            episodes, seconds = await self.sealed.run(cell, split)
            if split is Split.TEST:
                found = episodes
            entry = self.sealed.entry(cell, split, episodes, cpu_seconds=seconds)
            self.note("cell", entry, same=("name", "split"), apart=("cpu_seconds",))
        return found

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


def calls_per_task(episodes: Sequence[EpisodeRef], *, tasks: int) -> float:
    """Model calls that the episodes took, for each of so many tasks."""
    return sum(episode.calls for episode in episodes) / max(1, tasks)
