"""The Conductor: rounds of search, then training, then the sealed test. It alone commits.

Run again on the same folder it asks the same questions; whatever is in the store is answered from
there, so going on after a crash and starting are one code path.
"""

from collections.abc import Mapping
from typing import ClassVar

from evener.agents.budget import Meter
from evener.agents.bus import Peer, answers
from evener.agents.critics.idle import Activity
from evener.agents.critics.lighter import shown_size
from evener.agents.pattern import Background
from evener.agents.plan import Plan
from evener.agents.rollouts import Rollouts
from evener.agents.rounds.attempt import Attempt
from evener.agents.rounds.learning import try_model
from evener.agents.rounds.round import Round
from evener.agents.run import Guard, HarnessRegistry, Run, Standing
from evener.agents.sealed import cells, run_cells
from evener.protocols.error import BudgetError
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.port import Environment, Log, Progress, Store
from evener.protocols.wire import (
    ModelTried,
    PatchTried,
    RunEnded,
    StartRun,
    TryModel,
    TryPatch,
)


class Conductor(Peer):
    """Runs a `Plan` of T rounds and answers when the sealed test is done."""

    asks: ClassVar[tuple[str, ...]] = ("student", "critic", "validator", "trainer")
    publishes: ClassVar[tuple[str, ...]] = ("round", "verdict", "commit", "model", "stop")

    def __init__(
        self,
        environment: Environment,
        plan: Plan,
        *,
        store: Store,
        log: Log,
        registry: HarnessRegistry,
        background: Background,
        guard: Guard,
        meter: Meter,
        progress: Progress,
    ) -> None:
        super().__init__()
        self._standing: Standing | None = None
        self._trained: ModelRef | None = None
        self._run = Run(
            peer=self,
            environment=environment,
            store=store,
            log=log,
            registry=registry,
            plan=plan,
            rollouts=Rollouts(self, window=plan.window, meter=meter, progress=progress),
            meter=meter,
            progress=progress,
            background=background,
            guard=guard,
        )

    @answers
    async def run(self, message: StartRun) -> RunEnded:
        """The whole run, from the first mining episode to the last cell of the sealed test."""
        run = self._run
        seed_harness = run.store.get(Harness, message.harness)
        first = Standing(
            version=run.registry.start(seed_harness), harness=message.harness, model=message.model
        )
        out_of_budget = False
        try:
            stop_reason = await self._rounds(first)
        except BudgetError as error:
            out_of_budget, stop_reason = True, str(error)
        standing = self._standing or first
        # the model in force if it was trained, else the last one, which the gate did not accept
        trained = standing.model if standing.model != first.model else self._trained
        await run.announce("stop", stop_reason, round=run.plan.rounds)
        await run_cells(run, cells(first, standing, trained=trained, arms=message.arms))
        run.record("ended", {"stop_reason": stop_reason, **standing.document()})
        return RunEnded(
            version=standing.version,
            harness=standing.harness,
            model=standing.model,
            stop_reason=stop_reason,
            out_of_budget=out_of_budget,
        )

    @answers
    async def try_patch(self, message: TryPatch) -> PatchTried:
        """A patch from outside on the version in force; PatchError where it does not apply."""
        run = self._run
        version, harness = run.registry.head()
        standing = Standing(version=version, harness=run.store.put(harness), model=message.model)
        attempt = Attempt(run, message.proposal, standing, number=0, iteration=0)
        repeated = run.guard.fault(message.proposal.patch, harness)
        if repeated:
            return PatchTried(version="", record=attempt.turned_down(fault=repeated))
        after, record = await attempt.at_the_gate()
        return PatchTried(version=after.version if after else "", record=record)

    @answers
    async def try_model(self, message: TryModel) -> ModelTried:
        """Weights from outside under the version in force. What is accepted is not put in force:
        the run's own weights stay what its figures are about."""
        run = self._run
        version, harness = run.registry.head()
        standing = Standing(version=version, harness=run.store.put(harness), model=message.before)
        verdict = await try_model(run, 0, standing, message.model, author="person")
        return ModelTried(version=version, verdict=verdict)

    async def _rounds(self, first: Standing) -> str:
        """All rounds; why they ended."""
        run, self._standing = self._run, first
        size = shown_size(run.store.get(Harness, first.harness)) + run.plan.search.growth
        earlier: Mapping[str, Activity] = {}
        for number in range(1, run.plan.rounds + 1):
            text = f"round {number} of {run.plan.rounds} from {self._standing.version}"
            await run.announce("round", text, round=number)
            one = Round(run, number, self._standing, base=first.model, size=size, earlier=earlier)
            try:
                await one.run()
            finally:
                self._standing = one.standing
                self._trained = one.trained or self._trained
            earlier = one.activity
            if not one.changed:
                return f"round {number} changed neither harness nor weights"
        return f"all {run.plan.rounds} rounds are done"
