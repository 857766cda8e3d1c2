"""One round's search for a better harness: mine failures, ask the critic, race, try at the gate.

An accepted patch is committed at once and the failures are mined again under the new harness; one
that is not accepted is tried in halves, kept with its evidence, and never offered again against the
same harness.
"""

from collections.abc import Sequence

from evener.agents.critics.aggregate import edits_digest
from evener.agents.plan import derive
from evener.agents.rounds.attempt import Attempt
from evener.agents.rounds.bounds import Bounds, edit_budget
from evener.agents.rounds.bundle import Bundle, bundle
from evener.agents.rounds.mining import Mined, mine
from evener.agents.rounds.predict import predict, score
from evener.agents.rounds.race import Entry, Race, against, aimed_at, winners
from evener.agents.run import Run, Standing
from evener.protocols.attribution import Attribution, Proposal
from evener.protocols.diff import Prediction
from evener.protocols.harness import Harness
from evener.protocols.interval import wilson
from evener.protocols.task import Split
from evener.protocols.verdict import Delta, Ruling, Verdict
from evener.protocols.wire import AttributeFailures, PatchesProposed


class RoundSearch:
    """The K iterations of round `number`; `size` bounds what a student is shown before its task."""

    def __init__(self, run: Run, number: int, standing: Standing, *, size: int) -> None:
        self.standing = standing
        self.accepted = 0
        self._run = run
        self._number = number
        self._size = size
        self._search = run.plan.search
        self._tasks = run.environment.tasks(
            Split.MINE, count=self._search.mine_tasks, seed=derive(run.plan.seed, "mine", number)
        )
        self._refused: set[str] = set()
        self._waiting: list[Bundle] = []
        self._attributions: tuple[Attribution, ...] = ()
        self.mined = Mined(())

    async def run(self) -> None:
        """Up to K trials; `standing` and `accepted` follow each of them at once."""
        if not self._search.iterations:
            return
        self.mined = await self._mine()
        for iteration in range(1, self._search.iterations + 1):
            self._run.meter.check()
            if not self._waiting:
                if not self.mined.failures:
                    self._run.progress.say("no mining task fails any more")
                    break
                await self._shortlist(iteration)
            if not self._waiting:
                self._run.progress.say("the critic has nothing more to offer")
                break
            await self._try(self._waiting.pop(0), iteration)
        for left in self._waiting:
            fault = "not tried: the round's iterations were used up"
            self._attempt(left.proposal, self._search.iterations).turned_down(fault=fault)

    async def _mine(self) -> Mined:
        return await mine(self._run, self._number, self.standing, self._tasks)

    async def _shortlist(self, iteration: int) -> None:
        """Fill the waiting list with the winners of the race, all in one."""
        run, standing, failures = self._run, self.standing, self.mined.failures
        answer = await run.peer.ask(
            "critic",
            AttributeFailures(
                trajectories=tuple(episode.trajectory for _, episode in failures),
                harness=standing.harness,
                refused=tuple(sorted(self._refused)),
                limit=self._search.proposals,
                seed=derive(run.plan.seed, "critic", self._number, iteration),
            ),
            PatchesProposed,
        )
        self._attributions = answer.attributions
        bounds = self._bounds()
        fit: list[Proposal] = []
        for offer in answer.proposals:
            fault = bounds.fault(offer.patch)
            if fault:
                self._refused.add(edits_digest(offer.patch))
                self._attempt(offer, iteration).turned_down(fault=fault)
            else:
                fit.append(offer)
        race = Race(
            run.rollouts,
            run.store,
            tasks=self._search.race_tasks,
            budget=self._search.race_rollouts,
            progress=run.progress,
        )
        entries = await race.run(
            fit,
            aims={p.name: aimed_at(p, self._attributions, failures) for p in fit},
            harness=run.store.get(Harness, standing.harness),
            model=standing.model,
            seed=derive(run.plan.seed, "race", self._number, iteration),
        )
        best = winners(entries)
        for entry in entries:
            if entry not in best:
                self._lost(entry, best, iteration)
        whole = bundle(
            [entry.proposal for entry in best],
            name=f"merged-{self._number}-{iteration}",
            fits=lambda patch: not bounds.fault(patch),
        )
        if whole is not None:
            self._queue(whole)
            # what did not fit into the whole is tried by itself
            for entry in best:
                if entry.proposal not in whole.parts:
                    self._queue(Bundle(parts=(entry.proposal,), proposal=entry.proposal))

    def _queue(self, *bundles: Bundle) -> None:
        self._waiting += [b for b in bundles if edits_digest(b.proposal.patch) not in self._refused]

    def _bounds(self) -> Bounds:
        return Bounds(
            self._run.store.get(Harness, self.standing.harness),
            edits=edit_budget(self._search, self._number),
            size=self._size,
            guard=self._run.guard,
        )

    def _lost(self, entry: Entry, best: Sequence[Entry], iteration: int) -> None:
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
                looks=entry.heats,
                rollouts=entry.n,
                completion_tokens=entry.written,
                seed=self._run.plan.seed,
                reason=f"{entry.found()}{against(entry, best)}",
                aim="signature",
            )
        self._attempt(entry.proposal, iteration).turned_down(verdict=verdict, fault=entry.fault)

    async def _try(self, tried: Bundle, iteration: int) -> None:
        """Ask the gate; where it accepts, the standing moves and the failures are mined again."""
        prediction = self._predict(tried.proposal)
        attempt = self._attempt(tried.proposal, iteration, prediction)
        after, _ = await attempt.at_the_gate()
        if after is None:
            self._refused.add(edits_digest(tried.proposal.patch))
            later, self._waiting = self._waiting, []
            self._queue(*tried.halves())
            self._waiting += later
            return
        self.standing = after
        self.accepted += 1
        self._waiting.clear()
        self._refused.clear()
        before, self.mined = self.mined, await self._mine()
        found = score(prediction, before.scored(), self.mined.scored())
        self._run.record(
            "prediction",
            {
                "round": self._number,
                "iteration": iteration,
                "patch": tried.proposal.name,
                "fixes": len(prediction.fixes),
                "breaks": len(prediction.breaks),
                **found.document(),
            },
        )

    def _predict(self, proposal: Proposal) -> Prediction:
        harness = self._run.store.get(Harness, self.standing.harness)
        aimed = aimed_at(proposal, self._attributions, self.mined.failures)
        return predict(proposal, harness, aimed=aimed, solved=self.mined.solved)

    def _attempt(
        self, proposal: Proposal, iteration: int, prediction: Prediction | None = None
    ) -> Attempt:
        return Attempt(
            self._run,
            proposal,
            self.standing,
            attributions=self._attributions,
            prediction=prediction,
            number=self._number,
            iteration=iteration,
        )
