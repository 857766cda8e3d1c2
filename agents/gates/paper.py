"""The paper's gate (Co-Harness, arXiv 2607.22688): point estimates, δ_in > 0 and δ_out ≥ 0.

Kept for comparison. It knows no interval, so it accepts a patch that does nothing about a quarter
of the time, at any set size.
"""

from collections.abc import Sequence

from pydantic import Field

from evener.agents.gates.rule import points
from evener.agents.gates.sample import PairSample, Sample
from evener.protocols.attribution import TrialKind
from evener.protocols.digest import Wire, digest
from evener.protocols.verdict import Decision, Pair, Ruling


class PaperSettings(Wire):
    """Pairs on each side. The paper gives no sizes; its benchmarks have 30 problems each."""

    pairs_in: int = Field(default=30, ge=1)
    pairs_out: int = Field(default=30, ge=1)


class PaperGate:
    """One look at both sides. `simplify` asks δ_in ≥ 0, δ_out ≥ 0 and fewer tokens."""

    name = "paper"

    def __init__(self, settings: PaperSettings | None = None) -> None:
        self.settings = settings or PaperSettings()

    @property
    def digest(self) -> str:
        """Digest of all settings."""
        return digest({"gate": self.name, "settings": self.settings.document()})

    def least(self, kind: TrialKind) -> tuple[int, int]:
        """The paper's rule can be applied to any non-empty sides."""
        return 1, 1

    def most(self, kind: TrialKind) -> tuple[int, int]:
        """Its one look."""
        return self.settings.pairs_in, self.settings.pairs_out

    def decide(
        self,
        held_in: Sequence[Pair],
        held_out: Sequence[Pair],
        *,
        kind: TrialKind,
        exhausted_in: bool = False,
        exhausted_out: bool = False,
    ) -> Decision:
        """A ruling once both sides have their pairs, or what there is of them when exhausted."""
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
        n_in = min(held_in.size, self.settings.pairs_in)
        n_out = min(held_out.size, self.settings.pairs_out)
        short_in = n_in < self.settings.pairs_in and not exhausted_in
        short_out = n_out < self.settings.pairs_out and not exhausted_out
        if short_in or short_out:
            return Decision(
                ruling=None,
                want_in=self.settings.pairs_in if short_in else n_in,
                want_out=self.settings.pairs_out,
                reason=f"{n_in} and {n_out} pairs so far",
            )
        if n_in == 0 or n_out == 0:
            return Decision(
                ruling=Ruling.INDECISIVE,
                reason=f"{n_in} pairs on held_in and {n_out} on held_out: one side is empty",
            )
        gain, effect = held_in.reward(n_in).mean, held_out.reward(n_out).mean
        accepted = gain > 0 and effect >= 0
        reason = (
            f"held_in {points(gain)} points over {n_in} pairs, "
            f"held_out {points(effect)} over {n_out}"
        )
        if kind == "simplify":
            saved = -(held_in.cost(n_in) + held_out.cost(n_out)).mean
            accepted = gain >= 0 and effect >= 0 and saved > 0
            reason = f"{reason}, {saved:+.1f} tokens saved a pair"
        return Decision(ruling=Ruling.ACCEPT if accepted else Ruling.REJECT, reason=reason)
