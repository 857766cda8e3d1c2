"""Rival repairs run against each other on the mining failures they are aimed at.

Successive halving under a budget of episodes: all run on a few failures, of each group the better
half on more of them, until tasks or budget are used up. Only mining episodes are used, so a
race ranks and never proves: the winner still has to pass the gate. A proposal that solves next to
none of the failures it was made for does not get that far.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from evener.agents.rollouts import Rollouts, together
from evener.protocols.attribution import Attribution, Proposal
from evener.protocols.digest import Wire
from evener.protocols.error import PatchError
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.port import Progress, Store
from evener.protocols.reference import EpisodeRef
from evener.protocols.task import Purpose, Task

PROMISE = 0.15
"""Share of its failures that a winner solves: none were solved before, so this is about the gain
that the gate would be asked about, and smaller ones are beyond what a trial can see."""


class Entry(Wire):
    """A proposal and how it did: `solved` of `n` failures it is aimed at over `heats`, at `tokens`
    read and written, `written` of them generated. `fault` says why it could not be run at all."""

    proposal: Proposal
    heats: int = 0
    solved: float = 0.0
    n: int = 0
    tokens: int = 0
    written: int = 0
    fault: str = ""

    @property
    def rate(self) -> float:
        """Share of the failures that it solved."""
        return self.solved / self.n if self.n else 0.0

    @property
    def order(self) -> tuple[float, ...]:
        """Smallest first: got further, solved more, needed fewer tokens, ranked higher."""
        return (-self.heats, -self.rate, self.tokens, -self.proposal.rank)

    def found(self) -> str:
        """The result in words."""
        return f"solved {self.solved:g} of {self.n} mining failures with {self.tokens} tokens"


class Race:
    """Runs proposals on failures of the current harness, the same tasks for rivals: `tasks` of them
    in the first heat, at most `budget` episodes in all heats."""

    def __init__(
        self, rollouts: Rollouts, store: Store, *, tasks: int, budget: int, progress: Progress
    ) -> None:
        self._progress = progress
        self._rollouts = rollouts
        self._store = store
        self._tasks = tasks
        self._budget = budget

    async def run(
        self,
        proposals: Sequence[Proposal],
        *,
        aims: Mapping[str, Sequence[Task]],
        harness: Harness,
        model: ModelRef,
        seed: int,
    ) -> tuple[Entry, ...]:
        """One entry for each proposal, best first. `aims` has the tasks of each by its name."""
        entries: dict[str, Entry] = {}
        patched: dict[str, str] = {}
        for one in proposals:
            try:
                patched[one.name] = self._store.put(one.patch.apply(harness))
                entries[one.name] = Entry(proposal=one)
            except PatchError as error:
                entries[one.name] = Entry(proposal=one, fault=str(error))
        running, spent, start = list(patched), 0, 0
        size = max(1, min(self._tasks, self._budget // max(1, len(running))))
        while running:
            heat = {name: aims[name][start : start + size] for name in running}
            cost = sum(map(len, heat.values()))
            if not cost or (spent and spent + cost > self._budget):
                break
            self._progress.stage(f"racing {len(running)} proposals", total=cost)
            # all at once, so that the engine's batches are full
            episodes = await together(
                self._rollouts.run(
                    tasks, harness=patched[name], model=model, purpose=Purpose.MINE, seed=seed
                )
                for name, tasks in heat.items()
            )
            for name, done in zip(heat, episodes, strict=True):
                entries[name] = _after(entries[name], done)
            spent, start, size = spent + cost, start + size, size * 2
            running = _better_halves(entries[name] for name in running)
        return tuple(sorted(entries.values(), key=lambda entry: entry.order))


def _after(entry: Entry, episodes: Sequence[EpisodeRef]) -> Entry:
    scored = [e for e in episodes if e.reward is not None]
    return entry.model_copy(
        update={
            "heats": entry.heats + 1,
            "solved": entry.solved + sum(e.reward or 0.0 for e in scored),
            "n": entry.n + len(scored),
            "tokens": entry.tokens + sum(e.tokens for e in scored),
            "written": entry.written + sum(e.completion_tokens for e in scored),
        }
    )


def _better_halves(entries: Iterable[Entry]) -> list[str]:
    """Who goes on: of each group with rivals left those of the better half, two at least, that
    solved anything."""
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.solved > 0:
            groups[_group(entry)].append(entry)
    on: list[str] = []
    for rivals in groups.values():
        if len(rivals) > 1:
            ranked = sorted(rivals, key=lambda entry: entry.order)
            on += [entry.proposal.name for entry in ranked[: max(2, (len(ranked) + 1) // 2)]]
    return on


def aimed_at(
    proposal: Proposal,
    attributions: Sequence[Attribution],
    failures: Sequence[tuple[Task, EpisodeRef]],
) -> list[Task]:
    """The failed tasks that the proposal rests on; all where it rests on none, as a person's."""
    if not proposal.signatures and not proposal.attributions:
        return [task for task, _ in failures]
    wanted = {a.trajectory for a in attributions if proposal.rests_on(a)}
    return [task for task, episode in failures if episode.trajectory in wanted]


def winners(entries: Sequence[Entry]) -> list[Entry]:
    """The best entry of each group, if it solved `PROMISE` of its failures; without a group each
    stands alone."""
    best: dict[str, Entry] = {}
    for entry in entries:
        if entry.rate >= PROMISE and _group(entry) not in best:
            best[_group(entry)] = entry
    return list(best.values())


def against(entry: Entry, best: Sequence[Entry]) -> str:
    """Which rival won, in words; nothing where a proposal lost by itself."""
    rival = next(
        (b for b in best if b.proposal.group and b.proposal.group == entry.proposal.group), None
    )
    return f"; {rival.proposal.name} {rival.found()}" if rival else ""


def _group(entry: Entry) -> str:
    return entry.proposal.group or entry.proposal.name
