import time

from evener.agents.pattern.lexical import nearest


def test_a_spelling_is_matched_and_a_megabyte_is_not_looked_at() -> None:
    assert nearest("Pounds", ["pound", "gram"]) == "pound"
    start = time.process_time()
    assert nearest("1" * 1_000_000, ["pound", "1" * 1_000_000]) is None
    assert time.process_time() - start < 5
