"""One round's search for a better harness: mine failures, ask the critic, race, try at the gate.

An accepted patch is committed at once and the failures are mined again under the new harness; one
that is not accepted is kept with its evidence, and never offered again against the same harness.
"""

from collections.abc import Sequence

from evener.agents.attempt import Attempt
from evener.agents.critics.aggregate import edits_digest
from evener.agents.plan import derive
from evener.agents.race import Entry, Race, against, combine, singles, winners
from evener.agents.run import Run, Standing
from evener.protocols.attribution import Attribution, Proposal
from evener.protocols.error import InfraError
from evener.protocols.harness import Harness
from evener.protocols.interval import wilson
from evener.protocols.reference import EpisodeRef
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import Outcome
from evener.protocols.verdict import Delta, Ruling, Verdict
from evener.protocols.wire import AttributeFailures, PatchesProposed


class RoundSearch:
    """The K iterations of round `number`."""

    def __init__(self, run: Run, number: int, standing: Standing) -> None:
        self.standing = standing
        self._run = run
        self._number = number
        self._plan = run.plan
        self._tasks = run.environment.tasks(
            Split.MINE,
            count=run.plan.search.mine_tasks,
            seed=derive(run.plan.seed, "mine", number),
        )
        self._race = Race(
            run.rollouts, run.store, tasks=run.plan.search.race_tasks, progress=run.progress
        )
        self._refused: set[str] = set()
        self._waiting: list[Proposal] = []

    async def run(self) -> int:
        """How many patches were accepted; `standing` follows each of them at once."""
        accepted = 0
        failures = await self._mine()
        attributions: tuple[Attribution, ...] = ()
        for iteration in range(1, self._plan.search.iterations + 1):
            self._run.meter.check()
            if not self._waiting:
                if not failures:
                    self._run.progress.say("no mining task fails any more")
                    break
                attributions = await self._shortlist(failures, iteration)
            if not self._waiting:
                self._run.progress.say("the critic has nothing more to offer")
                break
            proposal = self._waiting.pop(0)
            if await self._try(proposal, attributions, iteration):
                accepted += 1
                self._waiting.clear()
                self._refused.clear()
                failures = await self._mine()
        for proposal in self._waiting:
            untried = self._attempt(proposal, attributions, self._plan.search.iterations)
            untried.turned_down(fault="not tried: the round's iterations were used up")
        return accepted

    async def _mine(self) -> list[tuple[Task, EpisodeRef]]:
        self._run.meter.check()
        standing = self.standing
        episodes = await self._run.rollouts.run(
            self._tasks,
            harness=standing.harness,
            model=standing.model,
            purpose=Purpose.MINE,
            seed=derive(self._plan.seed, "mine", self._number),
            label=f"round {self._number}: mining failures of {standing.version}",
        )
        pairs = list(zip(self._tasks, episodes, strict=True))
        solved = sum(e.outcome is Outcome.SOLVED for e in episodes)
        self._run.record(
            "mined",
            {
                "round": self._number,
                "version": standing.version,
                "model": str(standing.model),
                "n": len(episodes),
                "solved": solved,
                "infra": sum(e.outcome is Outcome.INFRA for e in episodes),
            },
        )
        if all(e.outcome is Outcome.INFRA for e in episodes):
            raise InfraError(
                f"none of {len(episodes)} mining episodes could be scored: the machinery failed in "
                "all of them (`evener trajectories list --outcome infra` shows how)"
            )
        self._run.progress.say(f"mining: {standing.version} solves {solved} of {len(episodes)}")
        return [
            (task, episode)
            for task, episode in pairs
            if episode.outcome in (Outcome.FAILED, Outcome.TRUNCATED)
        ]

    async def _shortlist(
        self, failures: Sequence[tuple[Task, EpisodeRef]], iteration: int
    ) -> tuple[Attribution, ...]:
        """Fill the waiting list: the winners of the race merged, then each of them alone."""
        standing = self.standing
        answer = await self._run.peer.ask(
            "critic",
            AttributeFailures(
                trajectories=tuple(episode.trajectory for _, episode in failures),
                harness=standing.harness,
                refused=tuple(sorted(self._refused)),
                limit=self._plan.search.proposals,
                seed=derive(self._plan.seed, "critic", self._number, iteration),
            ),
            PatchesProposed,
        )
        harness = self._run.store.get(Harness, standing.harness)
        entries = await self._race.run(
            singles(answer.proposals),
            attributions=answer.attributions,
            failures=failures,
            harness=harness,
            model=standing.model,
            seed=derive(self._plan.seed, "race", self._number, iteration),
        )
        best = winners(entries)
        for entry in entries:
            if entry not in best:
                self._lost(entry, best, answer.attributions, iteration)
        if best:
            together = combine(best, name=f"merged-{self._number}-{iteration}")
            alone = [entry.proposal for entry in best]
            self._waiting = [together, *(p for p in alone if p != together)]
        self._waiting = [p for p in self._waiting if edits_digest(p.patch) not in self._refused]
        return answer.attributions

    def _lost(
        self,
        entry: Entry,
        best: Sequence[Entry],
        attributions: Sequence[Attribution],
        iteration: int,
    ) -> None:
        self._refused.add(edits_digest(entry.proposal.patch))
        verdict = None
        if not entry.fault:
            share = wilson(round(entry.solved), entry.n)
            verdict = Verdict(
                trial=f"race-{self._number}-{iteration}",
                kind="improve",
                gate="race on mining failures",
                gate_digest="",
                ruling=Ruling.REJECT,
                delta_in=Delta(value=entry.rate, low=share.low, high=share.high, n=entry.n),
                delta_out=None,
                coverage=1.0,
                looks=1,
                rollouts=entry.n,
                completion_tokens=entry.tokens,
                seed=self._plan.seed,
                reason=f"{entry.found()}{against(entry, best)}",
                aim="signature",
            )
        attempt = self._attempt(entry.proposal, attributions, iteration)
        attempt.turned_down(verdict=verdict, fault=entry.fault)

    async def _try(
        self, proposal: Proposal, attributions: Sequence[Attribution], iteration: int
    ) -> bool:
        """Whether the gate accepts; if so the standing moves."""
        after, _ = await self._attempt(proposal, attributions, iteration).at_the_gate()
        if after is None:
            self._refused.add(edits_digest(proposal.patch))
            return False
        self.standing = after
        return True

    def _attempt(
        self, proposal: Proposal, attributions: Sequence[Attribution], iteration: int
    ) -> Attempt:
        return Attempt(
            self._run,
            proposal,
            self.standing,
            attributions=attributions,
            number=self._number,
            iteration=iteration,
        )
