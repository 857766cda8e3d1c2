import pytest

from evener.protocols.summary import Cell, Comparison, VerdictLine
from evener.protocols.verdict import Ruling
from evener.report import sentence as module


def cells(*names: str) -> list[Cell]:
    return [
        Cell(
            name=name, model="m", harness="v", split="test", n=60, solved=30, rate=0.5, low=0.4,
            high=0.6, coverage=1.0, tool_error_rate=0.0, calls=1, tokens=1, cpu_seconds=1.0, seed=0,
        )
        for name in names
    ]  # fmt: skip


def against(a: str, b: str, low: float, high: float, *, n: int = 60) -> Comparison:
    return Comparison(a=a, b=b, split="test", difference=(low + high) / 2, low=low, high=high, n=n)


def sentence(
    found: list[Cell], comparisons: list[Comparison], verdicts: list[VerdictLine] | None = None
) -> str:
    return module.sentence(found, comparisons, verdicts or (), drawn="seed 0")


def claim(low: float, high: float) -> str:
    found = against("base+evolved", "base+seed", low, high)
    return sentence(cells("base+seed", "base+evolved"), [found])


def test_a_gain_is_claimed_only_where_the_interval_is_clear_of_zero() -> None:
    assert "a gain" in claim(0.01, 0.3)
    assert "chance" in claim(0.0, 0.3)
    assert "chance" in claim(-0.2, 0.2)
    assert "a loss" in claim(-0.3, -0.01)


def test_a_bound_close_to_zero_keeps_its_sign() -> None:
    assert "+0.4 to +30" in claim(0.004, 0.3)


def test_nothing_scored_is_nothing_compared() -> None:
    nothing = against("base+evolved", "base+seed", -1, 1, n=0)
    assert "nothing to compare" in sentence(cells("base+seed", "base+evolved"), [nothing])


def test_a_run_that_changed_nothing_says_so() -> None:
    assert "what it began with" in sentence(cells("base+seed", "base+evolved"), [])


def test_a_sentence_without_a_sealed_test_claims_nothing() -> None:
    assert sentence([], []) == "The sealed test was not run."


LATER = ("base+seed", "trained+evolved", "trained_1+evolved_1", "trained_1+evolved_2")


@pytest.mark.parametrize(
    ("low", "high", "says"),
    [
        (0.01, 0.2, "Harness and weights compound: under the weights of round 1"),
        (-0.05, 0.2, "compound is not shown"),
        (-0.2, -0.01, "do not compound here"),
    ],
)
def test_compounding_is_said_as_far_as_the_interval_shows_it(
    low: float, high: float, says: str
) -> None:
    text = sentence(
        cells(*LATER, "trained_1+counterfactual_2"),
        [
            against("trained+evolved", "base+seed", 0.3, 0.5),
            against("trained_1+evolved_2", "trained_1+counterfactual_2", low, high),
        ],
    )
    assert says in text
    assert ("weights compound:" in text) == (low > 0)


def test_a_better_second_harness_alone_does_not_show_that_they_compound() -> None:
    text = sentence(
        cells(*LATER),
        [
            against("trained+evolved", "base+seed", 0.3, 0.5),
            against("trained_1+evolved_2", "trained_1+evolved_1", 0.1, 0.3),
        ],
    )
    assert "is ahead of that of round 1" in text
    assert "was not measured" in text
    assert "weights compound:" not in text


def test_a_second_search_that_changed_nothing_is_said() -> None:
    text = sentence(cells(*LATER), [against("trained+evolved", "base+seed", 0.3, 0.5)])
    assert "The search of round 2 left the harness as it was." in text


@pytest.mark.parametrize(
    ("ruling", "author", "said"),
    [
        (Ruling.REJECT, "trainer", True),
        (Ruling.ACCEPT, "trainer", False),
        (Ruling.REJECT, "planted", False),  # a model that was made to be refused
    ],
)
def test_the_sentence_says_when_the_gate_did_not_accept_the_model(
    ruling: Ruling, author: str, said: bool
) -> None:
    line = VerdictLine(
        round=1, iteration=0, patch="m+m1", kind="model", author=author, outcome=ruling,
        delta_in=0.0, delta_out=0.0, n_in=1, n_out=1, coverage=1.0, rollouts=4,
    )  # fmt: skip
    found = against("trained+evolved", "base+seed", 0.1, 0.3)
    text = sentence(cells("base+seed", "trained+evolved"), [found], [line])
    assert ("did not accept m+m1" in text) is said


def test_a_base_that_needs_no_harness_is_called_so() -> None:
    found = cells("base+target", "base+optimized", "trained+target")
    apart = [against("trained+target", "base+optimized", -0.1, 0.1)]
    assert "needs no harness" not in module.said(found, apart, drawn="seed 0")
    found[0] = found[0].model_copy(update={"solved": 60, "rate": 1.0})
    assert module.said(found, apart, drawn="seed 0").endswith("it solves all of them.")
