"""The Conductor: rounds of search, then training, then the sealed test. It alone commits.

Run again on the same folder it asks the same questions; whatever is in the store is answered from
there, so going on after a crash and starting are one code path.
"""

from typing import ClassVar

from evener.agents.attempt import Attempt
from evener.agents.budget import Meter
from evener.agents.bus import Peer, answers
from evener.agents.learning import learn
from evener.agents.plan import Plan
from evener.agents.rollouts import Rollouts
from evener.agents.run import HarnessRegistry, Run, Standing
from evener.agents.sealed import cells, run_cells
from evener.agents.search import RoundSearch
from evener.protocols.error import BudgetError
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.port import Environment, Log, Progress, Store
from evener.protocols.wire import PatchTried, RunEnded, StartRun, TryPatch


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
        after, record = await attempt.at_the_gate()
        return PatchTried(version=after.version if after else "", record=record)

    async def _rounds(self, first: Standing) -> str:
        """All rounds; why they ended. The standing follows every step, so that an exhausted
        budget loses nothing."""
        run, self._standing = self._run, first
        for number in range(1, run.plan.rounds + 1):
            text = f"round {number} of {run.plan.rounds} from {self._standing.version}"
            await run.announce("round", text, round=number)
            search = RoundSearch(run, number, self._standing)
            try:
                accepted = await search.run()
            finally:
                self._standing = search.standing
            model = None
            if run.plan.training.method != "none":
                learned = await learn(run, number, self._standing, base=first.model)
                self._standing, model = learned
            self._trained = model or self._trained
            if not accepted and model is None:
                return f"round {number} changed neither harness nor weights"
        return f"all {run.plan.rounds} rounds are done"
