"""One trial: draw tasks, run both arms, ask the gate, until it rules or the means run out.

V_in are held_in tasks that show a failure the patch is aimed at, found by a screening pass of the
harness as it is. Their screening result never counts: both arms run afresh on them, for a task that
failed once passes often enough with nothing changed. At temperature 0 a task cannot be run afresh,
and any change of the prompt draws its outcome anew while the old one is known to be a failure; so
there V_in is all of held_in. V_out is all of held_out.
"""

import math
from typing import Literal

from evener.agents.gates.sample import delta
from evener.agents.pattern import Background, signatures
from evener.agents.plan import derive
from evener.agents.trials.arms import Arms
from evener.agents.trials.supply import Draw, Supply
from evener.protocols.harness import Harness
from evener.protocols.port import Environment, Gate, Store
from evener.protocols.reference import EpisodeRef
from evener.protocols.task import Split
from evener.protocols.trajectory import Outcome, Trajectory
from evener.protocols.verdict import Pair, Ruling, Verdict
from evener.protocols.wire import TrialRequest

COVERAGE = 0.9
ENOUGH = 20  # tasks tried before poor coverage or a rare signature ends a trial early
REPEATS = 4  # times that a finite split is gone through again, with fresh episodes


class Side:
    """The pairs of one split so far; with `dry`, the reason why it gets no more."""

    def __init__(self, split: Split, supply: Supply, *, least: int) -> None:
        self.split = split
        self.supply = supply
        self.least = least
        self.pairs: list[Pair] = []
        self.tried = 0
        self.dry = ""


class Trial:
    """Runs once. Equal requests on equal environments give equal verdicts."""

    def __init__(
        self,
        request: TrialRequest,
        arms: Arms,
        *,
        environment: Environment,
        gate: Gate,
        store: Store,
        background: Background,
    ) -> None:
        self._request = request
        self._arms = arms
        self._gate = gate
        self._store = store
        self._background = background
        fresh = request.temperature > 0
        self._aims = frozenset(request.signatures) if fresh else frozenset[str]()
        self._in, self._out = (
            Side(
                split,
                Supply(
                    environment,
                    split,
                    seed=derive(request.seed, split),
                    repeats=REPEATS if fresh else 0,
                ),
                least=least,
            )
            for split, least in zip(
                (Split.HELD_IN, Split.HELD_OUT), gate.least(request.kind), strict=True
            )
        )
        self._picked: list[Draw] = []
        self._screened = 0
        self._shown = 0
        self._unscreened = 0
        self._looks = 0

    async def run(self) -> Verdict:
        """The verdict, with every figure behind it."""
        least, limit = 2 * (self._in.least + self._out.least), self._request.rollout_limit
        if least > limit:
            return self._verdict(
                Ruling.INDECISIVE,
                f"the limit of {limit} rollouts is under the {least} that a first look takes "
                f"({self._in.least} pairs on held_in and {self._out.least} on held_out)",
            )
        while True:
            self._looks += bool(self._in.pairs or self._out.pairs)
            decision = self._gate.decide(
                self._in.pairs,
                self._out.pairs,
                kind=self._request.kind,
                exhausted_in=bool(self._in.dry),
                exhausted_out=bool(self._out.dry),
            )
            if decision.ruling is not None:
                return self._verdict(decision.ruling, decision.reason)
            # held_in must leave enough for a first look at held_out
            reserve = 2 * max(0, self._out.least - len(self._out.pairs))
            await self._grow(self._in, decision.want_in, reserve)
            await self._grow(self._out, decision.want_out, 0)
            if self._unsound():
                return self._verdict(Ruling.INDECISIVE, decision.reason)

    def _left(self, reserve: int) -> int:
        return max(0, self._request.rollout_limit - self._arms.spent - reserve)

    @property
    def _coverage(self) -> float:
        """The share of tasks tried that were scored: in both arms, or, where that is worse, in the
        screening pass."""
        tried = self._in.tried + self._out.tried
        paired = (len(self._in.pairs) + len(self._out.pairs)) / tried if tried else 1.0
        seen = self._screened + self._unscreened
        return min(paired, self._screened / seen if seen else 1.0)

    def _unsound(self) -> bool:
        """So much went wrong that going on is a waste."""
        tried = self._in.tried + self._out.tried + self._screened + self._unscreened
        return tried >= ENOUGH and self._coverage < COVERAGE

    async def _grow(self, side: Side, want: int, reserve: int) -> None:
        """Bring a side to `want` pairs, or as near as limit and tasks allow; no pairs at all are
        run where they could not reach a first look."""
        while len(side.pairs) < want and not side.dry and not self._unsound():
            missing = want - len(side.pairs)
            if side is self._in and self._aims:
                await self._screen(missing, reserve)
            affordable = min(missing, self._left(reserve) // 2)
            if side is self._in and self._aims:
                draws, self._picked = self._picked[:affordable], self._picked[affordable:]
            else:
                draws = side.supply.take(affordable)
            if len(draws) < missing:
                side.dry = self._why(side, affordable < missing)
                if len(side.pairs) + len(draws) < side.least:
                    return
            found = await self._arms.pairs(draws)
            side.tried += len(found)
            side.pairs += [pair for pair in found if pair is not None]

    def _why(self, side: Side, limited: bool) -> str:
        if side is self._in and self._aims:
            limit = self._request.rollout_limit
            return f"too few tasks that show the failure were found within {limit} rollouts"
        if limited:
            return f"the limit of {self._request.rollout_limit} rollouts is reached"
        return f"{side.split} has no more tasks"

    async def _screen(self, missing: int, reserve: int) -> None:
        """Pick held_in tasks that show a signature until `missing` are picked, or until there is no
        more money or task for it, or no prospect of enough of them for a first look."""
        harness = self._store.get(Harness, self._request.before_harness)
        while len(self._picked) < missing and not self._unsound():
            # hopeful at first, so that no more is screened than may be needed
            rate = (self._shown + 1) / (self._screened + 1)
            left = self._left(reserve) - 2 * len(self._picked)
            need = self._in.least - len(self._in.pairs) - len(self._picked)
            if self._screened >= ENOUGH and need * (2 + 1 / rate) > left:
                return
            short = missing - len(self._picked)
            # at most double each time: a failure that never shows must not eat the limit
            most = max(short, self._screened)
            size = min(math.ceil(short / rate), most, int(left / (1 + 2 * rate)))
            draws = self._in.supply.take(max(0, size))
            if not draws:
                return
            for draw, episode in zip(draws, await self._arms.screen(draws), strict=True):
                if episode.outcome is Outcome.INFRA:
                    self._unscreened += 1
                    continue
                self._screened += 1
                if self._shows(episode, harness):
                    self._shown += 1
                    self._picked.append(draw)

    def _shows(self, episode: EpisodeRef, harness: Harness) -> bool:
        found = signatures(
            self._store.get(Trajectory, episode.trajectory),
            harness=harness,
            background=self._background,
        )
        return any(finding.signature in self._aims for finding in found)

    def _verdict(self, ruling: Ruling, reason: str) -> Verdict:
        request, arms = self._request, self._arms
        notes = [reason] if reason else []
        if self._coverage < COVERAGE:
            ruling = Ruling.INDECISIVE
            notes.insert(0, f"only {self._coverage:.0%} of the tasks could be scored in both arms")
        if ruling is Ruling.INDECISIVE:
            notes += [side.dry for side in (self._in, self._out) if side.dry]
        if self._screened:
            notes.append(f"{self._shown} of {self._screened} screened tasks show the failure")
        elif request.signatures and not self._aims:
            notes.append("at temperature 0 no task can be run afresh, so all of held_in was used")
        aim: Literal["signature", "all"] = "signature" if self._aims else "all"
        return Verdict(
            trial=request.trial,
            kind=request.kind,
            gate=self._gate.name,
            gate_digest=self._gate.digest,
            ruling=ruling,
            delta_in=delta(self._in.pairs, seed=request.seed),
            delta_out=delta(self._out.pairs, seed=request.seed),
            pairs_in=tuple(self._in.pairs),
            pairs_out=tuple(self._out.pairs),
            coverage=self._coverage,
            looks=self._looks,
            rollouts=arms.fresh,
            reused=arms.reused,
            screened=self._screened,
            calls=arms.calls,
            completion_tokens=arms.completion_tokens,
            seed=request.seed,
            reason="; ".join(notes),
            aim=aim,
        )
