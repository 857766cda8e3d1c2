from evener.protocols.digest import JsonObject
from evener.report.summarize import rows


def test_rows_of_a_resumed_round_count_once() -> None:
    first: JsonObject = {"round": 1, "rows": 9, "refused": {"infra": 2}}
    second: JsonObject = {"round": 2, "rows": 4, "refused": {"infra": 1, "truncated": 3}}
    found = rows([first, first, second])
    assert found.accepted == 13
    assert found.refused == {"infra": 3, "truncated": 3}
