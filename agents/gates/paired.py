"""The paired gate: looks at fixed sizes, early stopping both ways, one side after the other.

held_in comes first; only what clears its bar there is tried on held_out, and ACCEPT needs both. A
bound is the mean difference ∓ z standard errors (`Moments.estimate` keeps the error above zero).

| kind     | bar on held_in                        | bar on held_out                     |
| -------- | ------------------------------------- | ----------------------------------- |
| improve  | lower bound > 0                       | lower bound > −margin               |
| confirm  | the same, each tail over `rounds`     | lower bound > −margin               |
| simplify | lower bound > −margin                 | the same, and clearly fewer tokens  |
| model    | lower bound > 0, or later on the union | lower bound > −margin              |

A model that does not clear held_in alone is still accepted where it is not inferior on held_out and
clearly better on the union of both sides. One that only differs from the base never is.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist

from pydantic import Field, model_validator

from evener.agents.gates.rule import Judge, Look, State, Walked, above, cheaper, walk
from evener.agents.gates.sample import PairSample, Sample
from evener.protocols.attribution import TrialKind
from evener.protocols.digest import Wire, digest
from evener.protocols.verdict import Decision, Pair, Ruling


class PairedSettings(Wire):
    """The schedule; a look is (pairs, z). Early REJECT where the upper bound at `z_reject` is under
    `worth` on held_in (too small a gain to want), or under 0 wherever a bar is −margin (harm).
    `rounds` divides the error of `confirm`; `z_union` is a model's bar on both sides together,
    `z_cost` the bar of "clearly fewer tokens"."""

    looks_in: tuple[Look, ...] = ((30, 2.5), (60, 2.3), (90, 2.05), (120, 1.85))
    looks_out: tuple[Look, ...] = ((70, 2.0), (120, 1.65), (170, 1.4))
    margin: float = Field(default=0.10, gt=0, lt=1)
    worth: float = Field(default=0.10, ge=0, lt=1)
    z_reject: float = Field(default=1.4, gt=0)
    z_union: float = Field(default=2.6, gt=0)
    z_cost: float = Field(default=1.645, gt=0)
    rounds: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _looks_rise(self) -> "PairedSettings":
        for name, looks in (("looks_in", self.looks_in), ("looks_out", self.looks_out)):
            sizes = [size for size, _ in looks]
            if not sizes or sizes[0] < 2 or sizes != sorted(set(sizes)):
                raise ValueError(f"{name}: sizes must rise from 2 or more, not {sizes}")
            if any(z <= 0 for _, z in looks):
                raise ValueError(f"{name}: every z must be above 0")
        return self


SCHEDULES: Mapping[str, PairedSettings] = {
    "default": PairedSettings(),
    "small": PairedSettings(
        looks_in=((15, 2.3), (30, 1.6)),
        looks_out=((40, 1.7), (70, 1.3)),
        margin=0.15,
        z_reject=1.645,
    ),
}
"""`default`, and `small` for runs that can afford 200 rollouts a trial. How often each accepts, in
20,000 simulated trials (`simulate`, independent arms; the tests hold both to it):

| true effect          | default            | small              |
| -------------------- | ------------------ | ------------------ |
| nothing              | 0.035              | 0.038              |
| +20                  | 0.77               | 0.43               |
| +40                  | 0.82               | 0.81               |
| +20, −10 on held_out | 0.093              | 0.15               |
| +40, −10 on held_out | 0.098              | 0.28               |
| +40, −20 on held_out | 0.000              | 0.029              |
| rollouts             | 353 at +20, ≤ 580  | 149 at +40, ≤ 200  |

The bar that `default` has on held_in is cleared by a change that does nothing in at most 5 % of
trials however many of its pairs differ, and so whatever held_out does. `small` pays for its price:
with power, with a margin of 15 points, and with an error on held_in of up to 6 % where more than
half of the pairs differ.
"""


class PairedGate:
    """The default gate. `Decision.want_in` and `want_out` are totals: pairs to have by the next
    look."""

    name = "paired"

    def __init__(self, settings: PairedSettings | None = None) -> None:
        self.settings = settings or PairedSettings()

    @property
    def digest(self) -> str:
        """Digest of all settings."""
        return digest({"gate": self.name, "settings": self.settings.document()})

    def least(self, kind: TrialKind) -> tuple[int, int]:
        """The fewest pairs on held_in and on held_out that can end in ACCEPT."""
        return self._looks_in(kind)[0][0], self.settings.looks_out[0][0]

    def most(self, kind: TrialKind) -> tuple[int, int]:
        """The most pairs of each side that it ever looks at."""
        return self._looks_in(kind)[-1][0], self.settings.looks_out[-1][0]

    def decide(
        self,
        held_in: Sequence[Pair],
        held_out: Sequence[Pair],
        *,
        kind: TrialKind,
        exhausted_in: bool = False,
        exhausted_out: bool = False,
    ) -> Decision:
        """A ruling, or the totals wanted next. A function of the pairs' order alone: asking more
        often, or with pairs beyond a look, changes nothing."""
        return self.judge(
            PairSample(held_in),
            PairSample(held_out),
            kind=kind,
            exhausted_in=exhausted_in,
            exhausted_out=exhausted_out,
        )

    def judge(
        self,
        held_in: Sample,
        held_out: Sample,
        *,
        kind: TrialKind,
        exhausted_in: bool = False,
        exhausted_out: bool = False,
    ) -> Decision:
        """`decide` on sufficient statistics."""
        first = walk(
            held_in,
            self._looks_in(kind),
            self._judge_in(held_in, kind),
            exhausted=exhausted_in,
        )
        if first.state is State.FAILED:
            return Decision(ruling=Ruling.REJECT, reason=first.reason)
        if first.want:
            return Decision(ruling=None, want_in=first.want, reason=first.reason)
        if first.state is State.OPEN and (kind != "model" or first.n == 0):
            return Decision(ruling=Ruling.INDECISIVE, reason=f"held_in: {first.reason}")
        second = walk(
            held_out,
            self.settings.looks_out,
            self._judge_out(held_in, first, held_out, kind),
            exhausted=exhausted_out,
        )
        reason = f"{first.reason}; {second.reason}" if second.n else first.reason
        if second.want:
            return Decision(ruling=None, want_in=first.n, want_out=second.want, reason=reason)
        match second.state:
            case State.MET:
                return Decision(ruling=Ruling.ACCEPT, reason=reason)
            case State.FAILED:
                return Decision(ruling=Ruling.REJECT, reason=reason)
            case State.OPEN:
                return Decision(
                    ruling=Ruling.INDECISIVE, reason=f"{first.reason}; held_out: {second.reason}"
                )

    def _looks_in(self, kind: TrialKind) -> tuple[Look, ...]:
        """Non-inferiority needs the larger sizes; a confirmation shares its error over rounds."""
        if kind == "simplify":
            return self.settings.looks_out
        if kind == "confirm":
            return tuple(
                (size, shared(z, self.settings.rounds)) for size, z in self.settings.looks_in
            )
        return self.settings.looks_in

    def _judge_in(self, held_in: Sample, kind: TrialKind) -> Judge:
        settings = self.settings
        bar, floor = 0.0, settings.worth
        if kind == "simplify":
            bar, floor = -settings.margin, 0.0
        elif kind == "model":
            floor = 0.0

        def judge(n: int, z: float) -> tuple[State, str]:
            return above(
                "held_in",
                held_in.reward(n),
                z,
                bar=bar,
                floor=floor,
                z_reject=settings.z_reject,
            )

        return judge

    def _judge_out(
        self, held_in: Sample, first: Walked, held_out: Sample, kind: TrialKind
    ) -> Judge:
        settings = self.settings

        def judge(n: int, z: float) -> tuple[State, str]:
            state, reason = above(
                "held_out",
                held_out.reward(n),
                z,
                bar=-settings.margin,
                floor=0.0,
                z_reject=settings.z_reject,
            )
            if state is not State.MET:
                return state, reason
            if kind == "simplify":
                state, cost = cheaper(held_in.cost(first.n) + held_out.cost(n), settings.z_cost)
                return state, f"{reason}; {cost}"
            if first.state is State.OPEN:
                union = held_in.reward(first.n) + held_out.reward(n)
                state, better = above(
                    "both sides",
                    union,
                    settings.z_union,
                    bar=0.0,
                    floor=settings.worth,
                    z_reject=settings.z_reject,
                )
                return state, f"{reason}; {better}"
            return state, reason

        return judge


@lru_cache(maxsize=256)
def shared(z: float, rounds: int) -> float:
    """The z whose one-sided tail is that of `z` divided by `rounds`."""
    normal = NormalDist()
    return z if rounds == 1 else -normal.inv_cdf(normal.cdf(-z) / rounds)
