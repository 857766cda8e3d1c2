"""Null controls: sign flips of stored pairs, and a harness against itself."""

import random
from collections.abc import Sequence

import pytest

from evener.agents.gates.null import aa_control, can_flip, null_control, null_rate
from evener.agents.gates.paired import SCHEDULES, PairedGate
from evener.agents.gates.paper import PaperGate, PaperSettings
from evener.protocols.attribution import TrialKind
from evener.protocols.interval import tango, wilson
from evener.protocols.verdict import Decision, Pair, Ruling, Verdict

DEFAULT, SMALL = PairedGate(), PairedGate(SCHEDULES["small"])


def drawn(
    draw: random.Random, n: int, beta: tuple[float, float], shift: float, name: str
) -> list[Pair]:
    found: list[Pair] = []
    for at in range(n):
        p = draw.betavariate(*beta)
        q = min(1.0, max(0.0, p + shift))
        before, after = float(draw.random() < p), float(draw.random() < q)
        found.append(Pair(task=f"{name}{at}", before=before, after=after))
    return found


def verdict(
    held_in: Sequence[Pair],
    held_out: Sequence[Pair],
    *,
    kind: TrialKind = "improve",
    ruling: Ruling = Ruling.ACCEPT,
) -> Verdict:
    return Verdict(
        trial="t",
        kind=kind,
        gate="paired",
        gate_digest="g",
        ruling=ruling,
        delta_in=None,
        delta_out=None,
        pairs_in=tuple(held_in),
        pairs_out=tuple(held_out),
        coverage=1.0,
        looks=1,
        rollouts=2 * (len(held_in) + len(held_out)),
        seed=0,
        reason="",
    )


def trial(gate: PairedGate, draw: random.Random, gain: float) -> Verdict:
    """A trial as it would be stored: it ends where the gate rules."""
    most_in, most_out = gate.most("improve")
    held_in = drawn(draw, most_in, (2, 4), gain, "i")
    held_out = drawn(draw, most_out, (8, 2), 0.0, "o")
    n_in = n_out = 0
    while True:
        found = gate.decide(held_in[:n_in], held_out[:n_out], kind="improve")
        if found.ruling is not None:
            return verdict(held_in[:n_in], held_out[:n_out], ruling=found.ruling)
        n_in, n_out = max(n_in, found.want_in), max(n_out, found.want_out)


def test_sign_flips_give_the_null_rate_on_stored_pairs() -> None:
    draw = random.Random(1)
    held_in, held_out = drawn(draw, 120, (2, 4), 0.3, "i"), drawn(draw, 170, (8, 2), 0.0, "o")
    assert DEFAULT.decide(held_in, held_out, kind="improve").ruling is Ruling.ACCEPT
    found = null_rate(DEFAULT, held_in, held_out, flips=400, seed=1)
    assert 0.0 < found.accept <= 0.05
    assert found.low < found.accept < found.high
    assert found == null_rate(DEFAULT, held_in, held_out, flips=400, seed=1)
    assert found != null_rate(DEFAULT, held_in, held_out, flips=400, seed=2)
    assert (found.pairs_in, found.pairs_out) == (120, 170)


def test_repeats_of_a_task_are_flipped_together() -> None:
    always = [Pair(task="one", before=0.0, after=1.0)] * 30
    # 30 equal differences of one task are 30 gains or 30 losses, never a mixture
    paper = PaperGate()
    found = null_rate(paper, always, [Pair(task="o", before=1.0, after=1.0)] * 30, flips=200)
    assert 0.4 <= found.accept <= 0.6


def test_a_flip_swaps_the_tokens_with_the_rewards() -> None:
    cheap = Pair(task="a", before=1.0, after=1.0, cost_before=10.0, cost_after=5.0)
    one = PaperGate(PaperSettings(pairs_in=1, pairs_out=1))
    found = null_rate(one, [cheap], [cheap], kind="simplify", flips=400)
    # both sides keep their saving in a quarter of the flips, and both lose it in another
    assert 0.2 <= found.accept <= 0.3


@pytest.mark.parametrize(("gate", "bar"), [(DEFAULT, 0.01), (SMALL, 0.03)])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_of_large_effects_has_a_small_null_rate(
    gate: PairedGate, bar: float, seed: int
) -> None:
    draw = random.Random(seed)
    verdicts = [trial(gate, draw, 0.6) for _ in range(12)]
    found = null_control(gate, verdicts, flips=1000, seed=seed)
    assert found.rate <= bar
    assert (found.name, found.trials, found.seed) == ("sign flips", 1000, seed)
    assert found.pairs == sum(len(v.pairs_in) + len(v.pairs_out) for v in verdicts)


def test_thirty_and_seventy_pairs_of_a_gain_of_sixty_points_stay_under_five_percent() -> None:
    draw = random.Random(5)
    verdicts = [
        verdict(drawn(draw, 30, (2, 4), 0.6, "i"), drawn(draw, 70, (8, 2), 0.0, "o"))
        for _ in range(10)
    ]
    assert null_control(DEFAULT, verdicts).high <= 0.05
    assert null_control(SMALL, verdicts).rate <= 0.05


class Counting(PaperGate):
    """Notes what it is asked."""

    def __init__(self) -> None:
        super().__init__(PaperSettings(pairs_in=1, pairs_out=1))
        self.asked: list[tuple[str, str]] = []

    def decide(
        self,
        held_in: Sequence[Pair],
        held_out: Sequence[Pair],
        *,
        kind: TrialKind,
        exhausted_in: bool = False,
        exhausted_out: bool = False,
    ) -> Decision:
        assert exhausted_in
        assert exhausted_out
        self.asked.append((held_in[0].task, kind))
        return super().decide(
            held_in, held_out, kind=kind, exhausted_in=exhausted_in, exhausted_out=exhausted_out
        )


def one(name: str) -> list[Pair]:
    return [Pair(task=name, before=0.0, after=1.0)]


def test_flips_are_spread_over_all_trials_each_as_its_own_kind() -> None:
    gate = Counting()
    verdicts = [
        verdict(one("a"), one("x")),
        verdict(one("b"), one("x"), kind="model"),
        verdict(one("c"), one("x"), kind="confirm", ruling=Ruling.REJECT),
    ]
    found = null_control(gate, verdicts, flips=11)
    assert gate.asked == [("a", "improve")] * 4 + [("b", "model")] * 4 + [("c", "confirm")] * 3
    assert (found.trials, found.pairs) == (11, 6)
    # δ_in > 0 in half of the flips, δ_out ≥ 0 in half of them
    rate = null_control(Counting(), verdicts, flips=900)
    assert rate.rate == pytest.approx(0.25, abs=0.05)
    assert (rate.low, rate.high) == wilson(rate.accepted, 900)[1:3]


def test_trials_that_ended_on_held_in_do_not_dilute_the_rate() -> None:
    draw = random.Random(1)
    whole = verdict(drawn(draw, 120, (2, 4), 0.0, "i"), drawn(draw, 170, (8, 2), 0.0, "o"))
    ended = verdict(drawn(draw, 30, (2, 4), 0.0, "i"), [], ruling=Ruling.REJECT)
    early = verdict(whole.pairs_in[:29], whole.pairs_out, ruling=Ruling.INDECISIVE)
    short = verdict(whole.pairs_in, whole.pairs_out[:69], ruling=Ruling.INDECISIVE)
    least = verdict(whole.pairs_in[:30], whole.pairs_out[:70])
    assert [can_flip(DEFAULT, v) for v in (whole, ended, early, short, least)] == [
        True,
        False,
        False,
        False,
        True,
    ]
    alone = null_control(DEFAULT, [whole], flips=300)
    assert null_control(DEFAULT, [ended, whole, early, short], flips=300) == alone
    # a simplification needs the larger first look on held_in too
    assert not can_flip(DEFAULT, least.model_copy(update={"kind": "simplify"}))


def test_without_a_trial_to_flip_nothing_is_claimed() -> None:
    found = null_control(DEFAULT, [], flips=100)
    assert (found.trials, found.accepted, found.rate, found.low, found.high) == (
        0,
        0,
        0.0,
        0.0,
        1.0,
    )
    for flips in (0, -1):
        with pytest.raises(ValueError, match="flips must be 1 or more"):
            null_control(DEFAULT, [], flips=flips)
        with pytest.raises(ValueError, match="flips must be 1 or more"):
            null_rate(DEFAULT, [], [], flips=flips)
    assert null_rate(DEFAULT, [], [], flips=1).accept == 0.0
    assert null_control(Counting(), [verdict(one("a"), one("x"))], flips=1).trials == 1


def pairs(differences: Sequence[int], name: str) -> list[Pair]:
    return [
        Pair(task=f"{name}{at}", before=float(d < 0), after=float(d > 0))
        for at, d in enumerate(differences)
    ]


def test_a_a_trials_are_pooled_with_their_interval() -> None:
    verdicts = [
        verdict(pairs([1, 0, 0, -1], "a"), pairs([1, 0], "b"), ruling=Ruling.REJECT),
        verdict(pairs([0, 1, 0], "c"), [], ruling=Ruling.ACCEPT),
        verdict(pairs([-1], "d"), [], ruling=Ruling.INDECISIVE),
    ]
    found = aa_control(verdicts, temperature=0.3, seed=4)
    assert (found.name, found.trials, found.accepted, found.pairs) == ("A/A", 3, 1, 10)
    assert (found.rate, found.low, found.high) == wilson(1, 3)[:3]
    value, low, high, _ = tango(3, 2, 10)
    assert (found.difference, found.difference_low, found.difference_high) == (value, low, high)
    assert (found.temperature, found.seed) == (0.3, 4)


def test_a_task_of_two_a_a_trials_counts_once() -> None:
    again = [verdict(pairs([1, 0, 0, 0, -1, 1], "same"), []) for _ in range(4)]
    apart = [verdict(pairs([1, 0, 0, 0, -1, 1], f"own{at}-"), []) for at in range(4)]
    clustered = aa_control(again, temperature=0.3, seed=1)
    free = aa_control(apart, temperature=0.3, seed=1)
    assert clustered.difference == free.difference
    assert clustered.difference_low is not None
    assert free.difference_low is not None
    assert clustered.difference_low < free.difference_low


def test_no_a_a_trial_is_no_rate() -> None:
    found = aa_control([], temperature=0.3, seed=1)
    assert (found.trials, found.rate, found.low, found.high) == (0, 0.0, 0.0, 1.0)
    assert found.difference is None
