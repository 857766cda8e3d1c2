"""The paired gate: what it accepts, what it refuses, where it looks."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from evener.agents.gates.paired import SCHEDULES, PairedGate, PairedSettings, shared
from evener.protocols.attribution import TrialKind
from evener.protocols.verdict import Decision, Pair, Ruling

GATE = PairedGate()
KINDS: tuple[TrialKind, ...] = ("improve", "confirm", "simplify", "model")


def pairs(
    n: int, *, gained: int = 0, lost: int = 0, cost: float = 0.0, name: str = "t"
) -> list[Pair]:
    """Gains first, then losses, then the rest, which stay at 0; each on a task of its own."""
    outcomes = [(0.0, 1.0)] * gained + [(1.0, 0.0)] * lost + [(0.0, 0.0)] * (n - gained - lost)
    return [
        Pair(
            task=f"{name}{at}",
            before=before,
            after=after,
            cost_before=100.0,
            cost_after=100.0 + cost,
        )
        for at, (before, after) in enumerate(outcomes)
    ]


def spread(n: int, *, gained: int = 0, lost: int = 0, name: str = "t") -> list[Pair]:
    """The same in a fixed shuffled order."""
    found = pairs(n, gained=gained, lost=lost, name=name)
    random.Random(3).shuffle(found)
    return found


def rule(
    held_in: Sequence[Pair],
    held_out: Sequence[Pair] = (),
    *,
    kind: TrialKind = "improve",
    dry_in: bool = False,
    dry_out: bool = False,
    gate: PairedGate = GATE,
) -> Decision:
    return gate.decide(held_in, held_out, kind=kind, exhausted_in=dry_in, exhausted_out=dry_out)


SAME_OUT = pairs(70)


def test_it_asks_for_held_in_first_and_for_held_out_once_that_is_cleared() -> None:
    first = rule([])
    assert (first.ruling, first.want_in, first.want_out) == (None, 30, 0)
    second = rule(pairs(30, gained=7))
    assert (second.ruling, second.want_in, second.want_out) == (None, 30, 70)
    assert rule(pairs(30, gained=7), SAME_OUT).ruling is Ruling.ACCEPT


def test_a_look_needs_all_of_its_pairs() -> None:
    assert rule(pairs(29, gained=29)).want_in == 30
    assert rule(pairs(30, gained=8), pairs(69)).want_out == 70


def test_the_bar_on_held_in_is_where_the_formula_puts_it() -> None:
    # 7 gains: 7/32 − 2.5 · 0.0854 = 0.005; 6 gains: 6/32 − 2.5 · 0.0819 = −0.017
    assert rule(pairs(30, gained=7)).want_out == 70
    assert rule(pairs(30, gained=6)).want_in == 60
    assert "lower bound -1.7 not above +0.0" in rule(pairs(30, gained=6)).reason


def test_the_bar_on_held_out_is_where_the_formula_puts_it() -> None:
    good = pairs(30, gained=7)
    # 1 loss: −1/72 − 2 · 0.0238 = −0.062; 3: −0.042 − 2 · 0.0305 = −0.103
    assert rule(good, pairs(70, lost=1)).ruling is Ruling.ACCEPT
    assert rule(good, pairs(70, lost=2)).ruling is Ruling.ACCEPT
    # 9 gains and 12 losses: −0.042 − 2 · 0.0653 is under −0.1, and harm is not clear either
    assert rule(good, pairs(70, gained=9, lost=12)).want_out == 120


def test_clear_harm_on_held_out_is_refused_at_the_first_look() -> None:
    found = rule(pairs(30, gained=20), pairs(70, lost=10))
    assert found.ruling is Ruling.REJECT
    assert "held_out" in found.reason


def test_a_gain_that_is_clearly_too_small_is_refused_early() -> None:
    assert rule(pairs(30, lost=4)).ruling is Ruling.REJECT
    # nothing gained, nothing lost: 0 + 1.4 · 0.044 is under 0.1
    assert rule(pairs(30)).ruling is Ruling.REJECT
    assert rule(pairs(30, gained=4, lost=4)).want_in == 60


def test_what_the_schedule_cannot_settle_is_undecided() -> None:
    held_in = spread(120, gained=38, lost=30)
    found = rule(held_in)
    assert found.ruling is Ruling.INDECISIVE
    assert "120 pairs" in found.reason


def test_later_looks_have_lower_bars() -> None:
    # the gains come last: +10 over 60 is too little at the second look's z and enough later
    early = pairs(30, gained=5, lost=2)
    assert rule(early).want_in == 60
    for extra, want in ((30, 90), (60, 120)):
        held_in = [*early, *spread(extra, gained=extra // 6, lost=extra // 12, name="u")]
        assert rule(held_in).want_in == want
    enough = [*early, *spread(90, gained=18, lost=8, name="u")]
    assert rule(enough).want_out == 70


@pytest.mark.parametrize("kind", KINDS)
def test_no_difference_anywhere_is_never_accepted(kind: TrialKind) -> None:
    found = rule(pairs(200), pairs(200), kind=kind, dry_in=True, dry_out=True)
    assert found.ruling in (Ruling.REJECT, Ruling.INDECISIVE)


def test_a_gain_on_every_pair_is_no_infinite_certainty() -> None:
    strict = PairedGate(PairedSettings(looks_in=((3, 2.5),)))
    assert rule(pairs(3, gained=3), gate=strict, dry_in=True).ruling is Ruling.INDECISIVE
    assert rule(pairs(30, gained=30), SAME_OUT).ruling is Ruling.ACCEPT


@pytest.mark.parametrize("kind", KINDS)
def test_too_few_pairs_for_a_first_look_are_undecided_whatever_they_show(kind: TrialKind) -> None:
    found = rule(pairs(29, gained=29, cost=-50), pairs(69), kind=kind, dry_in=True, dry_out=True)
    assert found.ruling is Ruling.INDECISIVE
    assert "29 of" in found.reason
    short_out = rule(pairs(70, gained=70, cost=-50), pairs(69), kind=kind, dry_out=True)
    assert short_out.ruling is Ruling.INDECISIVE
    assert "69 of 70" in short_out.reason


def test_pairs_that_end_between_two_looks_get_one_last_look_at_the_next_z() -> None:
    # 40 pairs: 10 gains, 2 losses: 8/42 − 2.3 · 0.0841 < 0; one more gain clears it, but not 2.5
    between = [*pairs(30, gained=5, lost=1), *pairs(10, gained=5, lost=1, name="u")]
    assert rule(between, dry_in=True).ruling is Ruling.INDECISIVE
    cleared = [*pairs(30, gained=5, lost=1), *pairs(10, gained=6, lost=1, name="u")]
    assert rule(cleared, dry_in=True).want_out == 70
    assert rule(cleared).want_in == 60
    at_the_first = PairedGate(PairedSettings(looks_in=((30, 2.5), (60, 2.5))))
    assert rule(cleared, gate=at_the_first, dry_in=True).ruling is Ruling.INDECISIVE


def test_pairs_that_end_at_a_look_are_not_looked_at_again_with_a_lower_bar() -> None:
    # 10 gains and 2 losses of 30 clear 2.3 but not the 2.5 of that look: 8/32 − 2.3 · 0.1083 > 0
    assert rule(pairs(30, gained=10, lost=2), dry_in=True).ruling is Ruling.INDECISIVE


def test_one_side_may_run_dry_while_the_other_goes_on() -> None:
    found = rule(
        [*pairs(30, gained=5, lost=1), *pairs(10, gained=6, lost=1, name="u")], dry_in=True
    )
    assert (found.ruling, found.want_out) == (None, 70)
    assert rule(pairs(30, gained=6), dry_out=True).want_in == 60


def test_repeats_of_a_task_do_not_make_evidence() -> None:
    once = pairs(30, gained=7)
    assert rule(once).want_out == 70
    # seven gains of one task are one gain
    repeated = [Pair(task="same", before=0.0, after=1.0)] * 7 + once[7:]
    assert rule(repeated).want_in == 60


def outcomes(size: int) -> st.SearchStrategy[list[Pair]]:
    return st.lists(st.sampled_from([-1.0, 0.0, 0.0, 1.0]), min_size=size, max_size=size).map(
        lambda found: [
            Pair(task=f"t{at}", before=max(0.0, -d), after=max(0.0, d), cost_after=d)
            for at, d in enumerate(found)
        ]
    )


@settings(max_examples=10, deadline=None)
@given(outcomes(125), outcomes(175), st.sampled_from(KINDS), st.data())
def test_the_ruling_does_not_depend_on_how_often_it_was_asked(
    held_in: list[Pair], held_out: list[Pair], kind: TrialKind, data: st.DataObject
) -> None:
    whole = rule(held_in, held_out, kind=kind)
    n_in = n_out = 0
    while True:
        found = rule(held_in[:n_in], held_out[:n_out], kind=kind)
        if found.ruling is not None or max(found.want_in, found.want_out) > 170:
            break
        step = data.draw(st.integers(7, 60))
        n_in += step if found.want_in > n_in else 0
        n_out += step if found.want_out > n_out else 0
    if whole.ruling is not None and found.ruling is not None:
        assert found == whole


@settings(max_examples=10, deadline=None)
@given(
    outcomes(130), outcomes(180), st.sampled_from(KINDS), st.integers(0, 130), st.integers(0, 180)
)
def test_with_nothing_more_to_come_there_is_a_ruling(
    held_in: list[Pair], held_out: list[Pair], kind: TrialKind, n_in: int, n_out: int
) -> None:
    found = rule(held_in[:n_in], held_out[:n_out], kind=kind, dry_in=True, dry_out=True)
    assert found.ruling is not None
    assert found.reason


CHEAP_IN, CHEAP_OUT = pairs(70, cost=-20), pairs(70, cost=-20)


def test_a_simplification_is_accepted_when_it_is_not_worse_and_cheaper() -> None:
    assert rule([], kind="simplify").want_in == 70
    assert rule(CHEAP_IN, CHEAP_OUT, kind="simplify").ruling is Ruling.ACCEPT
    found = rule(pairs(70, lost=2, cost=-20), pairs(70, lost=2, cost=-20), kind="simplify")
    assert found.ruling is Ruling.ACCEPT
    assert "cheaper by -20.0 tokens" in found.reason


@pytest.mark.parametrize("cost", [0.0, 5.0])
def test_a_simplification_that_costs_the_same_or_more_is_refused(cost: float) -> None:
    found = rule(pairs(70, cost=cost), pairs(70, cost=cost), kind="simplify")
    assert found.ruling is Ruling.REJECT
    assert "not cheaper" in found.reason


def test_a_saving_that_could_be_chance_needs_more_pairs() -> None:
    noisy = [
        p.model_copy(update={"cost_after": 400.0 if at % 5 == 0 else 10.0})
        for at, p in enumerate(pairs(70))
    ]
    assert rule(noisy, noisy, kind="simplify").want_out == 120


def test_a_simplification_that_loses_is_refused_on_either_side() -> None:
    bad = pairs(70, lost=10, cost=-20)
    assert rule(bad, CHEAP_OUT, kind="simplify").ruling is Ruling.REJECT
    assert rule(CHEAP_IN, bad, kind="simplify").ruling is Ruling.REJECT


def test_a_simplification_needs_no_gain_and_an_improvement_no_saving() -> None:
    assert rule(pairs(30)).ruling is Ruling.REJECT
    assert rule(pairs(30, gained=8, cost=50), pairs(70, cost=50)).ruling is Ruling.ACCEPT


def test_a_model_that_only_differs_stays_out() -> None:
    held_in, held_out = spread(120, gained=12, lost=12), spread(170, gained=12, lost=12)
    assert rule(held_in, held_out, kind="model").ruling is Ruling.REJECT


def test_a_model_may_show_its_gain_on_both_sides_together() -> None:
    held_in = spread(120, gained=24, lost=15)
    assert rule(held_in, kind="improve").ruling is Ruling.INDECISIVE
    assert rule(held_in, kind="model").want_out == 70
    assert rule(held_in, spread(70, gained=18, lost=4), kind="model").ruling is Ruling.ACCEPT
    assert rule(held_in, spread(70, gained=6, lost=4), kind="model").want_out == 120


def test_a_model_that_harms_held_out_is_refused_whatever_it_gains() -> None:
    assert rule(pairs(30, gained=25), pairs(70, lost=10), kind="model").ruling is Ruling.REJECT


def test_a_model_that_harms_held_in_is_refused_there() -> None:
    assert rule(pairs(30, lost=6), kind="model").ruling is Ruling.REJECT
    assert rule(pairs(30), kind="model").want_in == 60


def test_a_confirmation_shares_its_error_over_the_rounds() -> None:
    three = PairedGate(PairedSettings(rounds=3))
    assert rule(pairs(30, gained=7), kind="confirm").want_out == 70
    assert rule(pairs(30, gained=7), kind="confirm", gate=three).want_in == 60
    assert rule(pairs(30, gained=7), kind="improve", gate=three).want_out == 70
    assert rule(pairs(30, gained=12), SAME_OUT, kind="confirm", gate=three).ruling is Ruling.ACCEPT


@pytest.mark.parametrize("z", [1.4, 1.75, 2.5])
def test_a_shared_z_has_the_tail_divided(z: float) -> None:
    from scipy.stats import norm

    assert shared(z, 1) == z
    assert norm.sf(shared(z, 4)) == pytest.approx(norm.sf(z) / 4)


def test_least_and_most_are_the_ends_of_the_schedule() -> None:
    assert GATE.least("improve") == (30, 70)
    assert GATE.most("improve") == (120, 170)
    assert GATE.least("simplify") == (70, 70)
    assert GATE.most("simplify") == (170, 170)


def test_the_digest_is_of_every_setting() -> None:
    same = PairedGate(PairedSettings())
    other = PairedGate(PairedSettings(margin=0.11))
    assert GATE.digest == same.digest != other.digest
    assert PairedGate(SCHEDULES["small"]).digest != GATE.digest
    assert SCHEDULES["default"] == GATE.settings


def test_settings_come_back_from_json() -> None:
    small = SCHEDULES["small"]
    assert PairedSettings.model_validate_json(small.model_dump_json()) == small


def test_the_smallest_look_is_of_two_pairs() -> None:
    assert PairedGate(PairedSettings(looks_in=((2, 2.0),))).least("improve") == (2, 70)


@pytest.mark.parametrize(
    "bad",
    [
        {"looks_in": []},
        {"looks_in": [[1, 2.0]]},
        {"looks_out": [[40, 2.0], [40, 1.5]]},
        {"looks_out": [[40, 2.0], [30, 1.5]]},
        {"looks_in": [[30, 0.0]]},
        {"margin": 0},
        {"rounds": 0},
        {"z_reject": -1},
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused(bad: dict[str, object]) -> None:
    import json

    with pytest.raises(ValidationError):
        PairedSettings.model_validate_json(json.dumps(bad))
