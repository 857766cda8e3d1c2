from typing import Any

from evener.protocols.digest import JsonObject
from evener.protocols.summary import Cell
from evener.report.grid import compounding
from evener.report.measured import measured


def cells(logged: Any, *entries: JsonObject) -> list[Cell]:
    return [one.cell for one in measured(entries, logged.shelf, seed=0)]


def named(entry: JsonObject, model: str, harness: str) -> JsonObject:
    return {**entry, "model": model, "harness": harness}


def test_the_table_has_every_pair_that_was_measured_and_a_dash_for_the_rest(logged: Any) -> None:
    found = cells(
        logged,
        logged.cell("base+seed", "+---"),
        logged.cell("base+evolved_1", "++--"),
        logged.cell("trained_1+evolved_1", "+++-"),
        logged.cell("trained_1+evolved_2", "++++"),
        logged.cell("trained_1+counterfactual_2", "----"),
    )
    table = compounding([found], "test")
    assert table.header[1:4] == ["seed", "evolved_1", "evolved_2"]
    assert table.rows[0][:4] == ("base", "25% (4)", "50% (4)", "–")
    assert table.rows[1][:4] == ("trained_1", "–", "75% (4)", "100% (4)")
    assert compounding([found], "ood").rows == ()


def test_a_pair_that_was_measured_under_another_name_is_in_its_place(logged: Any) -> None:
    found = cells(
        logged,
        named(logged.cell("base+evolved_2", "+---"), "m", "v3"),
        named(logged.cell("trained_2+seed", "----"), "m+m2", "v0"),
        named(logged.cell("trained+evolved", "+++-"), "m+m2", "v3"),
        named(logged.cell("base+seed@best3", "++++"), "m", "v0"),
    )
    table = compounding([found], "test")
    assert table.rows == [
        ("base", "–", "25% (4)", "–"),
        ("trained_2", "0% (4)", "75% (4)", "0%"),
    ]


def test_several_runs_are_summed_and_a_run_of_one_round_has_no_table(logged: Any) -> None:
    one = cells(logged, logged.cell("base+seed", "+-"), logged.cell("base+evolved_1", "++"))
    other = cells(logged, logged.cell("base+evolved_1", "--"))
    assert compounding([one, other], "test").rows == [("base", "50% (2)", "50% (4)", "0%")]
    plain = cells(logged, logged.cell("base+seed", "+-"), logged.cell("base+evolved", "++"))
    assert compounding([plain], "test").rows == ()
