"""The figures of a critic, on blames whose figures are known by hand."""

from collections import Counter
from math import isnan

import pytest

from evener.bench.critic.accuracy import PlantLine, accuracy, kappa, verdict
from evener.bench.critic.page import render


def line(planted: str, *blamed: str, placed: float | None = None) -> PlantLine:
    votes = Counter(blamed)
    found = verdict(votes)
    return PlantLine(
        name=f"{planted}-{found}",
        fault="it is broken",
        planted=planted,
        blamed=found,
        right=found == planted,
        votes=dict(votes),
        signatures={},
        placed=placed,
        solved=3,
    )


def test_a_perfect_critic_and_one_that_always_blames_one_part() -> None:
    kinds = ("P", "T", "S", "Mid", "M", "agent")
    perfect = accuracy([line(k, k) for k in kinds * 2], critic="c", judge="model", seed=0)
    assert (perfect.macro_recall.value, perfect.macro_recall.n) == (1.0, 10)
    assert (perfect.false_blame.value, perfect.false_blame.n) == (0.0, 2)
    assert perfect.kappa.value == 1
    # no interval is of width 0, also where all plants agree
    for figure in (perfect.kappa, perfect.failure_recall):
        assert 0 < figure.low < 1 == figure.high
    assert perfect.failure_false_blame.low == 0 < perfect.failure_false_blame.high < 1
    stubborn = accuracy([line(k, "S") for k in kinds * 2], critic="c", judge="model", seed=0)
    assert stubborn.macro_recall.value == pytest.approx(0.2)
    assert stubborn.false_blame.value == 1
    assert stubborn.kappa.value == 0
    by_name = {d.dimension: d for d in stubborn.dimensions}
    assert (by_name["S"].recall.value, by_name["S"].blamed) == (1.0, 12)
    assert by_name["S"].precision.value == pytest.approx(1 / 6)
    assert by_name["P"].precision.value is None
    assert by_name["P"].recall.value == 0
    assert 0 < by_name["S"].recall.low < 1


def test_a_critic_that_abstains_blames_nobody_falsely_and_finds_nothing() -> None:
    found = accuracy(
        [line(k, "agent") for k in ("P", "T", "S", "Mid", "M", "agent")],
        critic="c",
        judge="control",
        seed=0,
    )
    assert (found.macro_recall.value, found.false_blame.value) == (0.0, 0.0)


def test_the_votes_of_a_plant_count_once_and_a_tie_is_no_answer() -> None:
    assert verdict(Counter({"P": 2, "S": 1})) == "P"
    assert verdict(Counter({"P": 2, "S": 2})) == "tie"
    lines = [line("P", "P", "P", "S"), line("P", "S", "P"), line("agent", "agent", "Mid")]
    found = accuracy(lines, critic="c", judge="rule", seed=0)
    assert (found.macro_recall.value, found.macro_recall.n) == (0.5, 2)
    assert found.false_blame.value == 1
    assert found.failure_recall.value == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert found.failure_false_blame.value == pytest.approx(0.5)
    assert found.failures == 7


def test_kappa_is_cohen_s() -> None:
    # his own form of the 2 × 2 table: 20 and 15 agreed, 5 and 10 not
    pairs = [("a", "a")] * 20 + [("a", "b")] * 5 + [("b", "a")] * 10 + [("b", "b")] * 15
    assert kappa(pairs) == pytest.approx(0.4)
    assert isnan(kappa([("a", "a")] * 3))


def test_a_suggestion_at_the_place_is_told_from_one_elsewhere() -> None:
    # where most failures are blamed on another part, one suggestion at the place counts for nothing
    lines = [
        line("P", "P", placed=1.0),
        line("P", "P", placed=0.0),
        line("P", "S"),
        line("P", "S", "S", "P", placed=1.0),
    ]
    found = accuracy(lines, critic="c", judge="rule", seed=0)
    assert (found.placed.value, found.placed.n) == (0.5, 2)


def test_the_page_says_who_judged_and_which_plants_were_missed() -> None:
    lines = [line("P", "P"), line("T", "S", "S", "T"), line("agent", "agent")]
    text = render(accuracy(lines, critic="rule", judge="rule", seed=3))
    assert "rules judge" in text
    assert "2 planted faults, 1 agent errors, 5 failures, seed 3; set: own" in text
    assert "S (S 2, T 1)" in text
    assert "macro recall 50% (95 % 9%–91%, n 2)" in text
    rows = [row.split()[0] for row in text.splitlines() if "it is broken" in row]
    assert rows == ["right", "wrong", "right"]
