"""One proposal at the gate: apply, try, then commit or keep it with what was found.

The same path for the critic's patches and for a person's.
"""

from collections.abc import Sequence

from evener.agents.plan import derive
from evener.agents.rounds.judge import enter, judge
from evener.agents.run import Run, Standing
from evener.protocols.attribution import Attribution, Proposal
from evener.protocols.diff import DiffRecord, Prediction
from evener.protocols.harness import Harness
from evener.protocols.verdict import Ruling, Verdict

SAMPLE = 5  # attribution records kept with a diff; the log has them all


class Attempt:
    """A proposal against `standing`, in iteration `iteration` of round `number`."""

    def __init__(
        self,
        run: Run,
        proposal: Proposal,
        standing: Standing,
        *,
        attributions: Sequence[Attribution] = (),
        prediction: Prediction | None = None,
        number: int,
        iteration: int,
    ) -> None:
        self._run = run
        self._proposal = proposal
        self._standing = standing
        self._attributions = attributions
        self._prediction = prediction
        self._number = number
        self._iteration = iteration

    async def at_the_gate(self) -> tuple[Standing | None, DiffRecord]:
        """The new standing if the gate accepts (the version is committed then), and the record.

        Raises PatchError where the patch does not apply to the standing harness.
        """
        run, proposal, standing = self._run, self._proposal, self._standing
        patched = proposal.patch.apply(run.store.get(Harness, standing.harness))
        offered = Standing(version="", harness=run.store.put(patched), model=standing.model)
        trial = f"{self._number}-{self._iteration}-{proposal.name}"
        verdict = await judge(
            run,
            standing,
            offered,
            trial=trial,
            kind=proposal.kind,
            about=proposal.name,
            seed=derive(run.plan.seed, "trial", trial),
            signatures=proposal.signatures,
        )
        record = self.record(verdict)
        after = None
        if verdict.ruling is Ruling.ACCEPT:
            version = run.registry.commit(patched, record)
            after = offered.model_copy(update={"version": version})
        else:
            run.registry.refuse(record)
        await self._say(verdict, after)
        return after, record

    def turned_down(self, *, verdict: Verdict | None = None, fault: str = "") -> DiffRecord:
        """Keep a proposal that did not get to the gate."""
        record = self.record(verdict, fault)
        self._run.registry.refuse(record)
        return record

    def record(self, verdict: Verdict | None, fault: str = "") -> DiffRecord:
        """The proposal with the attributions behind it and what was found."""
        behind = [a for a in self._attributions if self._proposal.rests_on(a)]
        return DiffRecord(
            round=self._number,
            iteration=self._iteration,
            parent=self._standing.version,
            proposal=self._proposal,
            attributions=tuple(behind[:SAMPLE]),
            failures=len(behind),
            model=self._standing.model,
            verdict=verdict,
            fault=fault,
            prediction=self._prediction,
        )

    async def _say(self, verdict: Verdict, after: Standing | None) -> None:
        run, number, iteration = self._run, self._number, self._iteration
        enter(
            run,
            verdict,
            number=number,
            iteration=iteration,
            patch=self._proposal.name,
            author=self._proposal.author,
            version=after.version if after else "",
        )
        text = f"{self._proposal.name}: {verdict.ruling} ({verdict.reason})"
        await run.announce("verdict", text, round=number, iteration=iteration)
        if after:
            text = f"committed {after.version}"
            await run.announce(
                "commit", text, round=number, iteration=iteration, about=after.harness
            )
