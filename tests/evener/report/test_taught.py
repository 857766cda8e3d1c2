"""The tables of what a distillation taught."""

from evener.protocols.summary import Reviews, Summary
from evener.report.taught import reviews

RUN = Summary(
    run="r", state="finished", environment="e", student="s", critic="none", gate="none", seed=3,
    rounds=0,
)  # fmt: skip


def test_what_was_carried_on_has_a_column_and_a_note_says_of_what_the_shares_are() -> None:
    some = Reviews(reviewer="flagged own", candidates=10, reviewed=4, replaced=6, carried_on=2)
    table = reviews([RUN.model_copy(update={"reviews": (some,)})])
    shown = dict(zip(table.header, table.rows[0], strict=True))
    assert (shown["reviewed"], shown["replaced"]) == ("4 (40%)", "6 (60%)")
    assert shown["carried on"] == 2
    assert "up to its last allowed replacement" in table.note
    assert "carried on: replaced without asking" in table.note
    assert reviews([RUN]).note == ""
