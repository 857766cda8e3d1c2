"""A call of h*'s tool, carried out in the target's tools."""

import pytest

from evener.agents.knowledge.translate import Recipes, filled
from evener.protocols.digest import JsonObject
from evener.protocols.error import HarnessError
from evener.protocols.harness import Harness, Step
from evener.protocols.knowledge import Knowledge, Recipe
from evener.protocols.message import Call


@pytest.fixture
def recipes(knowledge: Knowledge, target: Harness) -> Recipes:
    return Recipes(knowledge, target)


def test_a_quote_is_a_lookup_and_then_a_product(recipes: Recipes) -> None:
    call = recipes.resolve(Call(name="quote", arguments={"item": " Green Candle", "quantity": "9"}))
    assert call is not None
    assert recipes.step(call, 0) == Call(name="lookup", arguments={"item": "green candle"})
    product = recipes.step(call, 1, result="52")
    assert product == Call(name="calculator", arguments={"expression": "9*52"})


def test_units_are_spelt_as_the_harness_spelt_them(recipes: Recipes) -> None:
    given: JsonObject = {"value": 3, "from": "Pounds ", "to": "kg"}
    call = recipes.resolve(Call(name="convert_any", arguments=given))
    assert call is not None
    assert recipes.step(call, 0).arguments == {"value": 3, "from": "pound", "to": "kilogram"}


def test_a_value_is_passed_as_it_is_and_one_that_is_not_given_is_left_out() -> None:
    steps = (Step(action="sell", arguments={"items": "{{ items }}", "note": "{{ note }}"}),)
    recipe = Recipe(tool="t", text="", steps=steps)
    made = filled(recipe, {"items": ["lamp", {"n": 2}]}, 0)
    assert made == Call(name="sell", arguments={"items": ["lamp", {"n": 2}]})


def test_what_no_recipe_knows_is_nothing(recipes: Recipes) -> None:
    assert recipes.resolve(Call(name="sell")) is None
    assert recipes.resolve(Call(name="quote", arguments={"item": "lamp"})) is None


def test_a_step_that_the_target_refuses_says_so(recipes: Recipes) -> None:
    call = Call(name="convert_any", arguments={"value": 3, "from": "stone", "to": "kilogram"})
    with pytest.raises(HarnessError, match="must be one of"):
        recipes.step(call, 0)


def test_a_step_without_the_result_it_needs_says_so(recipes: Recipes) -> None:
    call = Call(name="quote", arguments={"item": "lamp", "quantity": 3})
    with pytest.raises(HarnessError, match="result"):
        recipes.step(call, 1)
