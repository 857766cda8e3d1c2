"""One round: search, confirmation, training, a lighter harness, and a later look at it all.

The standing follows every step at once, so that an exhausted budget loses nothing.
"""

from collections.abc import Mapping

from evener.agents.critics.idle import Activity, activity, idle, removals
from evener.agents.critics.lighter import lighter
from evener.agents.rounds.confirm import confirm
from evener.agents.rounds.learning import learn
from evener.agents.rounds.lighten import lighten
from evener.agents.rounds.search import RoundSearch
from evener.agents.rounds.watch import watch
from evener.agents.run import Run, Standing
from evener.protocols.attribution import Proposal
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.trajectory import Trajectory


class Round:
    """Round `number` from `standing`. `base` is what training starts from; `size` bounds what a
    student is shown before its task; `earlier` says which parts were active in the round before."""

    def __init__(
        self,
        run: Run,
        number: int,
        standing: Standing,
        *,
        base: ModelRef,
        size: int,
        earlier: Mapping[str, Activity],
    ) -> None:
        self.first = standing
        self.standing = standing
        self.trained: ModelRef | None = None
        self.activity: Mapping[str, Activity] = {}
        self._earlier = earlier
        self._run = run
        self._number = number
        self._base = base
        self._size = size

    @property
    def changed(self) -> bool:
        """Whether harness or weights in force are others than before."""
        return self.standing != self.first

    async def run(self) -> None:
        """All steps; `standing` and `trained` say how far it came."""
        run, number = self._run, self._number
        await self._search()
        run.record("searched", {"round": number, **self.standing.document()})
        if run.plan.training.method != "none":
            self.standing, self.trained = await learn(run, number, self.standing, base=self._base)
        await self._lighten()
        await self._watch()
        run.record("round_end", {"round": number, **self.standing.document()})

    async def _search(self) -> None:
        run, number = self._run, self._number
        search = RoundSearch(run, number, self.standing, size=self._size)
        try:
            with run.spending(number, "search"):
                await search.run()
        finally:
            self.standing = search.standing
        harness = run.store.get(Harness, self.standing.harness)
        self.activity = activity(
            [run.store.get(Trajectory, e.trajectory) for _, e in search.mined.pairs], harness
        )
        if search.accepted and run.plan.trials.confirm:
            with run.spending(number, "confirm"):
                self.standing = await confirm(run, number, self.first, self.standing)

    async def _lighten(self) -> None:
        """Offer to take out what was idle for two rounds; and, where the weights have changed, a
        lighter harness: before that nothing has learnt what the examples show."""
        run, number = self._run, self._number
        if not run.plan.search.lighter:
            return
        harness = run.store.get(Harness, self.standing.harness)
        candidates: tuple[Proposal, ...] = ()
        if self.standing.model != self.first.model:
            candidates = lighter(harness, run.background)
        unused = idle(self.activity, self._earlier)
        candidates += removals(harness, unused, background=run.background)
        if candidates:
            with run.spending(number, "lighter"):
                few = candidates[: run.plan.search.proposals]
                self.standing = await lighten(run, number, self.standing, few)

    async def _watch(self) -> None:
        run, number = self._run, self._number
        if not run.plan.trials.watch or self.standing.harness == self.first.harness:
            return
        with run.spending(number, "watch"):
            self.standing = await watch(run, number, self.standing, self.first)
