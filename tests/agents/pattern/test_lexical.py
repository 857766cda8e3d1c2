import pytest

from evener.agents.pattern.lexical import nearest


@pytest.mark.timeout(120)
def test_a_spelling_is_matched_and_a_megabyte_is_not_looked_at() -> None:
    """Likeness is quadratic: without a bound the second line would not end today."""
    assert nearest("Pounds", ["pound", "gram"]) == "pound"
    assert nearest("1" * 1_000_000, ["pound", "1" * 1_000_000]) is None
