"""Rival repairs run against each other on the mining failures they are aimed at.

Only mining episodes are used, so a race ranks and never proves: the winner still has to pass the
gate. A proposal that solves none of the failures it was made for does not get that far.
"""

import asyncio
from collections.abc import Sequence

from evener.agents.rollouts import Rollouts
from evener.protocols.attribution import Attribution, Proposal
from evener.protocols.digest import Wire
from evener.protocols.error import PatchError
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.patch import merge
from evener.protocols.port import Progress, Store
from evener.protocols.reference import EpisodeRef
from evener.protocols.task import Purpose, Task


class Entry(Wire):
    """A proposal and how it did: `solved` of `n` failures it is aimed at, at `tokens` generated.
    `fault` says why it could not be run at all."""

    proposal: Proposal
    solved: float = 0.0
    n: int = 0
    tokens: int = 0
    fault: str = ""

    @property
    def rate(self) -> float:
        """Share of the failures that it solved."""
        return self.solved / self.n if self.n else 0.0

    def found(self) -> str:
        """The result in words."""
        return f"solved {self.solved:g} of {self.n} mining failures with {self.tokens} tokens"


class Race:
    """Runs proposals on failures of the current harness, the same tasks for rivals."""

    def __init__(self, rollouts: Rollouts, store: Store, *, tasks: int, progress: Progress) -> None:
        self._progress = progress
        self._rollouts = rollouts
        self._store = store
        self._tasks = tasks

    async def run(
        self,
        proposals: Sequence[Proposal],
        *,
        attributions: Sequence[Attribution],
        failures: Sequence[tuple[Task, EpisodeRef]],
        harness: Harness,
        model: ModelRef,
        seed: int,
    ) -> tuple[Entry, ...]:
        """One entry for each proposal, best first: more solved, then fewer tokens, then rank."""
        aims = [aimed_at(p, attributions, failures)[: self._tasks] for p in proposals]
        self._progress.stage(f"racing {len(proposals)} proposals", total=sum(map(len, aims)))
        # all at once, so that the engine's batches are full
        entries = await asyncio.gather(
            *(
                self._enter(proposal, tasks, harness, model, seed)
                for proposal, tasks in zip(proposals, aims, strict=True)
            )
        )
        return tuple(sorted(entries, key=lambda e: (-e.rate, e.tokens, -e.proposal.rank)))

    async def _enter(
        self,
        proposal: Proposal,
        tasks: Sequence[Task],
        harness: Harness,
        model: ModelRef,
        seed: int,
    ) -> Entry:
        try:
            digest = self._store.put(proposal.patch.apply(harness))
        except PatchError as error:
            return Entry(proposal=proposal, fault=str(error))
        episodes = await self._rollouts.run(
            tasks,
            harness=digest,
            model=model,
            purpose=Purpose.MINE,
            seed=seed,
        )
        scored = [e for e in episodes if e.reward is not None]
        return Entry(
            proposal=proposal,
            solved=sum(e.reward or 0.0 for e in scored),
            n=len(scored),
            tokens=sum(e.completion_tokens for e in scored),
        )


def aimed_at(
    proposal: Proposal,
    attributions: Sequence[Attribution],
    failures: Sequence[tuple[Task, EpisodeRef]],
) -> list[Task]:
    """The failed tasks that show one of the proposal's signatures; all where it names none."""
    if not proposal.signatures:
        return [task for task, _ in failures]
    wanted = {a.trajectory for a in attributions if a.signature in proposal.signatures}
    return [task for task, episode in failures if episode.trajectory in wanted]


def singles(proposals: Sequence[Proposal]) -> list[Proposal]:
    """The proposals that are not put together from edits of the others: the race decides what is
    worth putting together."""
    return [
        one
        for one in proposals
        if not all(
            any(edit in part.patch.edits for part in proposals if _inside(part, one))
            for edit in one.patch.edits
        )
    ]


def _inside(part: Proposal, whole: Proposal) -> bool:
    edits = whole.patch.edits
    return len(part.patch.edits) < len(edits) and all(e in edits for e in part.patch.edits)


def winners(entries: Sequence[Entry]) -> list[Entry]:
    """The best entry of each group that solved anything; without a group each stands alone."""
    best: dict[str, Entry] = {}
    for entry in entries:
        group = entry.proposal.group or entry.proposal.name
        if entry.solved > 0 and group not in best:
            best[group] = entry
    return list(best.values())


def against(entry: Entry, best: Sequence[Entry]) -> str:
    """Which rival won, in words; nothing where a proposal lost by itself."""
    rival = next(
        (b for b in best if b.proposal.group and b.proposal.group == entry.proposal.group), None
    )
    return f"; {rival.proposal.name} {rival.found()}" if rival else ""


def combine(entries: Sequence[Entry], *, name: str) -> Proposal:
    """All compatible proposals in one, best first; one that clashes with a better is left out."""
    taken: list[Proposal] = []
    for entry in entries:
        try:
            merge([p.patch for p in [*taken, entry.proposal]])
        except PatchError:
            continue
        taken.append(entry.proposal)
    if len(taken) == 1:
        return taken[0]
    return Proposal(
        name=name,
        author=taken[0].author,
        patch=merge([p.patch for p in taken]),
        signatures=tuple(dict.fromkeys(s for p in taken for s in p.signatures)),
        attributions=tuple(dict.fromkeys(a for p in taken for a in p.attributions)),
        rank=max(p.rank for p in taken),
        reason="; ".join(p.name for p in taken),
    )
