"""What the steps inside a composite gave: found, reckoned, solved for, or not made up."""

import pytest

from evener.agents.knowledge.evidence import Evidence, Shown, gather
from evener.agents.knowledge.example import Unwritten, derive
from evener.agents.pattern import Background
from evener.protocols.digest import JsonObject
from evener.protocols.harness import Harness, Step
from evener.protocols.knowledge import Recipe
from evener.protocols.message import Call

RECKONS = Shown("q", "calculator", {"expression": "2*3"}, "6")
PRICE = Shown("What does a lamp cost?", "lookup", {"item": "lamp"}, "25")
IN_WORDS = Shown("q", "lookup", {"item": "pear"}, "4 dollars")
LOOK = Step(action="lookup", arguments={"item": "{{ item }}"})
CHANGE = Step(action="convert", arguments={"value": "{{ result }}", "to": "euro"})


def reckon(expression: str) -> Step:
    return Step(action="calculator", arguments={"expression": expression})


def inside(
    *steps: Step, told: str | None, shown: tuple[Shown, ...], asked: str = "", **arguments: object
) -> list[str | None]:
    given: JsonObject = {"item": "lamp", **arguments}  # type: ignore[dict-item]
    recipe = Recipe(tool="t", text="", steps=steps)
    call = Call(name="t", arguments=given)
    return [*derive(recipe, call, told, asked, Evidence(shown))]


TIMES = reckon("{{ quantity }}*{{ result }}")


def test_the_price_behind_a_quote_is_the_quotient() -> None:
    found = inside(LOOK, TIMES, told="4108", shown=(RECKONS, PRICE), quantity=79)
    assert found == ["52", "4108"]


def test_an_inner_result_is_taken_from_an_example_with_the_same_question() -> None:
    asked = "What does a lamp cost?"
    found = inside(LOOK, CHANGE, told="23.1", shown=(PRICE,), asked=asked)
    assert found == ["25", "23.1"]


def test_another_question_s_price_is_not_this_one_s() -> None:
    with pytest.raises(Unwritten, match="what lookup gave inside t cannot be known"):
        inside(LOOK, CHANGE, told="23.1", shown=(PRICE,), asked="What does a red lamp cost?")


def test_what_can_be_reckoned_forward_is() -> None:
    steps = (reckon("{{ quantity }}+2"), CHANGE)
    assert inside(*steps, told="9.2", shown=(RECKONS,), quantity=8) == ["10", "9.2"]


def test_two_results_are_solved_for_one_after_the_other() -> None:
    steps = (LOOK, TIMES, reckon("{{ result }}+5"))
    assert inside(*steps, told="80", shown=(RECKONS, PRICE), quantity=3) == ["25", "75", "80"]


@pytest.mark.parametrize(
    ("steps", "told", "shown"),
    [
        ((LOOK, TIMES), "4108", (PRICE,)),  # nothing shows that the calculator reckons
        ((LOOK, TIMES), "100", (RECKONS, PRICE)),  # 100/79 is no price
        ((LOOK, TIMES), None, (RECKONS, PRICE)),  # no result on view
        ((LOOK, TIMES), "4108", (RECKONS, IN_WORDS)),  # the lookup answers in words
        ((LOOK, reckon("{{ quantity }}*{{ result | number }}")), "4108", (RECKONS,)),
        ((LOOK, LOOK, TIMES), "4108", (RECKONS, PRICE)),  # the first lookup leads nowhere
    ],
)
def test_what_cannot_be_known_is_not_made_up(
    steps: tuple[Step, ...], told: str | None, shown: tuple[Shown, ...]
) -> None:
    with pytest.raises(Unwritten, match="cannot be known"):
        inside(*steps, told=told, shown=shown, quantity=79)


def test_results_that_disagree_are_refused() -> None:
    with pytest.raises(Unwritten, match="do not agree"):
        inside(LOOK, TIMES, told="90", shown=(RECKONS, PRICE), asked=PRICE.question, quantity=3)


def test_one_wrong_example_takes_a_tool_s_arithmetic_away() -> None:
    wrong = Shown("q", "calculator", {"expression": "2*2"}, "5")
    assert Evidence([RECKONS]).reckoned("calculator") == "expression"
    assert Evidence([RECKONS, wrong]).reckoned("calculator") is None


def test_the_documentation_and_both_harnesses_are_evidence(
    optimized: Harness, target: Harness, background: Background
) -> None:
    evidence = gather(optimized, target, background)
    assert evidence.reckoned("calculator") == "expression"
    assert evidence.bare_numbers("lookup")
    assert evidence.reckoned("lookup") is None
    nothing = gather(target, target, Background(actions=background.actions))
    assert nothing.reckoned("calculator") == "expression"
    assert not nothing.bare_numbers("lookup")
