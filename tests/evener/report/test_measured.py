from typing import Any

from evener.report.against import pairs, says
from evener.report.measured import comparisons, measured


def test_best_of_n_is_charged_with_every_episode_it_needed(logged: Any) -> None:
    entries = [logged.cell("base+seed", "+-"), logged.cell("base+seed@best3", "++", spent=4)]
    once, best = (one.cell for one in measured(entries, logged.shelf, seed=0))
    assert (once.n, once.calls, once.tokens) == (2, 6, 10)
    assert (best.n, best.solved, best.calls, best.tokens) == (2, 2, 18, 30)


def test_a_cell_logged_again_counts_once_and_its_cpu_seconds_add_up(logged: Any) -> None:
    entries = [logged.cell("base+seed", "+-"), logged.cell("base+seed", "++")]
    (found,) = measured(entries, logged.shelf, seed=0)
    assert (found.cell.solved, found.cell.cpu_seconds) == (2, 3.0)


def test_the_declared_pairs_are_compared_whatever_their_n_or_round(logged: Any) -> None:
    names = (
        "base+seed", "base+seed@best4", "base+seed@majority4", "trained+evolved",
        "trained_1+evolved_1", "trained_1+evolved_2", "trained_1+counterfactual_2",
        "trained_2+evolved_2", "trained_2+evolved_3",
    )  # fmt: skip
    entries = [logged.cell(name, "+" * i + "-" * (9 - i)) for i, name in enumerate(names)]
    found = comparisons(measured(entries, logged.shelf, seed=0), seed=0)
    assert [(c.a, c.b) for c in found] == [
        ("trained+evolved", "base+seed"),
        ("trained+evolved", "base+seed@best4"),
        ("trained+evolved", "base+seed@majority4"),
        ("trained+evolved", "trained_1+evolved_1"),
        ("trained_1+evolved_2", "trained_1+evolved_1"),
        ("trained_1+evolved_2", "trained_1+counterfactual_2"),
        ("trained_2+evolved_3", "trained_2+evolved_2"),
    ]
    assert found[0].difference == 3 / 9
    assert "round 2" in says("trained_1+evolved_2", "trained_1+evolved_1")
    assert "best of n" in says("trained+evolved", "base+seed@best4")


def test_two_names_of_the_same_episodes_are_no_comparison(logged: Any) -> None:
    entry = logged.cell("trained+evolved", "+-")
    entries = [entry, {**entry, "name": "trained_1+evolved_1"}]
    assert comparisons(measured(entries, logged.shelf, seed=0), seed=0) == ()


def test_every_declared_pair_is_found_by_its_own_names() -> None:
    assert [(a, b) for a, b, _ in pairs(["base+evolved", "base+random", "base+seed"])] == [
        ("base+evolved", "base+seed"),
        ("base+evolved", "base+random"),
    ]
