"""Each hint rule where it must speak and where it must not; and what a broken hint does."""

from collections.abc import Callable

import pytest

from evener.agents.harness.runtime import prepare
from evener.agents.knowledge.hints import fire
from evener.agents.knowledge.rules.rule import Found, Rule, RuleSettings
from evener.agents.knowledge.rules.table import RULES
from evener.agents.knowledge.seen import Seen
from evener.protocols.digest import JsonObject
from evener.protocols.harness import Harness
from evener.protocols.knowledge import Hint, Knowledge
from evener.protocols.wire import ReviewRequest

Asks = Callable[..., ReviewRequest]
Says = Callable[..., str]
PRICE = "Anna wants 79 pieces of green candle. What is the total price?"
FINAL: JsonObject = {"final": ["final"]}


@pytest.fixture
def speaks(knowledge: Knowledge, target: Harness) -> Callable[..., str | None]:
    """What a rule says to a request."""

    def asked(rule: str, request: ReviewRequest, **settings: object) -> str | None:
        hint = Hint(
            name="h",
            rule=rule,
            text=RULES[rule].text,
            settings=settings,  # type: ignore[arg-type]
            source="x",
        )
        seen = Seen(request, knowledge, prepare(target))
        found = RULES[rule].bind(hint.settings)(seen)
        assert found is None or set(found) == set(RULES[rule].variables)
        fired = fire(seen, hints=[hint])
        assert fired.faults == ()
        return fired.texts[0] if fired.texts else None

    return asked


Speaks = Callable[..., str | None]


@pytest.mark.parametrize("text", ["52", '{"name": "lookup"', '```{"name": "x"}```', ""])
def test_unreadable(text: str, speaks: Speaks, asks: Asks) -> None:
    assert speaks("unreadable", asks(PRICE, text))


def test_a_call_is_readable(speaks: Speaks, asks: Asks, says: Says) -> None:
    assert speaks("unreadable", asks(PRICE, says("lookup", item="green candle"))) is None


def test_an_unknown_tool_is_told_what_stands_for_it(speaks: Speaks, asks: Asks, says: Says) -> None:
    request = asks(PRICE, says("quote", item="green candle", quantity=79))
    means = {"quote": "lookup, then calculator"}
    assert speaks("unknown_tool", request, means=means) == (
        "There is no tool quote; use lookup, then calculator."
    )
    assert speaks("unknown_tool", request, means={"sell": "lookup"}) is None
    assert "lookup" in str(speaks("unknown_tool", asks(PRICE, says("lookups", item="a"))))
    assert speaks("unknown_tool", asks(PRICE, says("lookup", item="a"))) is None


def test_bad_arguments(speaks: Speaks, asks: Asks, says: Says) -> None:
    wrong = asks(PRICE, says("lookup", product="green candle"))
    assert "item" in str(speaks("bad_arguments", wrong))
    assert speaks("bad_arguments", wrong, tools=["convert"]) is None
    assert speaks("bad_arguments", asks(PRICE, says("lookup", item="green candle"))) is None
    assert speaks("bad_arguments", asks(PRICE, says("quote", item="lamp"))) is None


def test_units_that_are_spelt_otherwise(speaks: Speaks, asks: Asks, says: Says) -> None:
    def of(unit: str) -> str | None:
        request = asks("Convert.", says("convert", value=3, **{"from": unit, "to": "kilogram"}))
        return speaks("spelling", request, tool="convert_any", argument="from")

    assert of("Pounds") == 'from must be spelt "pound", not "Pounds".'
    assert of("pound") is None
    assert of("stone") is None


def test_a_failed_response_is_not_to_be_repeated(speaks: Speaks, asks: Asks, says: Says) -> None:
    lookup = says("lookup", item="green candles")
    unknown = "unknown item 'green candles'; nearest: 'green candle'"
    assert "green candle" in str(speaks("repeat", asks(PRICE, lookup, (lookup, unknown))))
    assert speaks("repeat", asks(PRICE, "52", ("52", "Nothing was executed.")))
    assert speaks("repeat", asks(PRICE, says("lookup", item="x"), (lookup, unknown))) is None


def test_a_call_that_works_may_be_made_again_but_not_for_ever(
    speaks: Speaks, asks: Asks, says: Says
) -> None:
    lookup = (says("lookup", item="green candle"), "52")
    assert speaks("repeat", asks(PRICE, lookup[0], lookup), repeats=3) is None
    assert "2 times" in str(speaks("repeat", asks(PRICE, lookup[0], lookup, lookup), repeats=3))


@pytest.mark.parametrize(
    "text", ["It costs 4108.", '{"name": "final", "arguments": {"answer": 1}}']
)
def test_an_answer_before_any_tool(text: str, speaks: Speaks, asks: Asks, says: Says) -> None:
    lookup = (says("lookup", item="green candle"), "52")
    assert speaks("no_action", asks(PRICE, text), **FINAL)
    assert speaks("no_action", asks(PRICE, text, lookup), **FINAL) is None
    assert speaks("no_action", asks(PRICE, text, (says("sell"), "No such tool.")), **FINAL)


def test_a_tool_first_is_action(speaks: Speaks, asks: Asks, says: Says) -> None:
    assert speaks("no_action", asks(PRICE, says("lookup", item="a")), **FINAL) is None


def test_an_answer_that_is_not_the_last_result(speaks: Speaks, asks: Asks, says: Says) -> None:
    product = (says("calculator", expression="79*52"), "4108")
    wrong = speaks("answer_differs", asks(PRICE, says("final", answer=52), product), **FINAL)
    assert wrong == "The answer (52) is not the last result (4108)."
    right = asks(PRICE, says("final", answer=4108.0), product)
    assert speaks("answer_differs", right, **FINAL) is None
    assert speaks("answer_differs", asks(PRICE, says("final", answer=52)), **FINAL) is None
    error = (says("calculator", expression="79*"), "bad expression '79*'; 3 more")
    after = asks(PRICE, says("final", answer=4108), product, error)
    assert speaks("answer_differs", after, **FINAL) is None


def test_a_price_begins_with_a_lookup(speaks: Speaks, asks: Asks, says: Says) -> None:
    settings: JsonObject = {"skill": "price", "tools": ["lookup", "calculator", "final"]}
    begun = asks(PRICE, says("calculator", expression="79*52"))
    assert speaks("wrong_procedure", begun, **settings) == (
        "A task like this one wants lookup here, not calculator."
    )
    looked = (says("lookup", item="green candle"), "52")
    after = asks(PRICE, says("calculator", expression="79*52"), looked)
    assert speaks("wrong_procedure", after, **settings) is None
    elsewhere = says("convert", value=1, **{"from": "pound", "to": "gram"})
    assert speaks("wrong_procedure", asks(PRICE, elsewhere, looked), **settings)
    other = asks("Henry packs 3 times 4 chairs.", says("calculator", expression="3*4"))
    assert speaks("wrong_procedure", other, **settings) is None


def test_a_number_from_nowhere(speaks: Speaks, asks: Asks, says: Says) -> None:
    tools = ["calculator"]
    looked = (says("lookup", item="green candle"), "52")
    of = says("calculator", expression="79*53")
    assert speaks("operands", asks(PRICE, of, looked), tools=tools) == (
        "53 is neither in the task nor a result so far."
    )
    assert speaks("operands", asks(PRICE, of), tools=["lookup"]) is None
    right = asks(PRICE, says("calculator", expression="79*52.0-(-79)"), looked)
    assert speaks("operands", right, tools=tools) is None


def test_every_rule_s_text_has_only_the_variables_that_it_declares() -> None:
    from evener.agents.harness.template import check

    for rule in RULES.values():
        check(rule.text, rule.variables, where=rule.name)


def test_a_hint_that_raises_is_recorded_and_the_others_speak(
    knowledge: Knowledge, target: Harness, asks: Asks
) -> None:
    class Nothing(RuleSettings):
        """Nothing to set."""

    def fails(_: Nothing, __: Seen) -> Found | None:
        raise ZeroDivisionError("it broke")

    rules = {**RULES, "broken": Rule("broken", Nothing, (), fails, "")}
    hints = [
        Hint(name="one", rule="broken", text="x", source="x"),
        Hint(name="two", rule="nowhere", text="x", source="x"),
        Hint(name="three", rule="operands", text="x", source="x"),
        Hint(name="four", rule="unreadable", text="No call.", source="x"),
    ]
    seen = Seen(asks(PRICE, "52"), knowledge, prepare(target))
    fired = fire(seen, hints=hints, rules=rules)
    assert fired.texts == ("No call.",)
    assert [fault.split(":")[0] for fault in fired.faults] == ["one", "two", "three"]
    assert "it broke" in fired.faults[0]


def test_a_hint_is_a_function_of_what_is_visible(
    knowledge: Knowledge, target: Harness, asks: Asks, says: Says
) -> None:
    request = asks(PRICE, says("calculator", expression="79*53"))
    first = fire(Seen(request, knowledge, prepare(target)))
    told = request.model_copy(update={"episode": "e", "mean_logprob": -3.0})
    assert fire(Seen(told, knowledge, prepare(target))) == first
    assert {said.rule for said in first.said} == {"wrong_procedure", "operands"}


def test_a_right_episode_sets_no_hint_off(
    knowledge: Knowledge, target: Harness, asks: Asks, says: Says
) -> None:
    steps = [
        (says("lookup", item="green candle"), "52"),
        (says("calculator", expression="79*52"), "4108"),
        (says("final", answer=4108), ""),
    ]
    for at, (said, _) in enumerate(steps):
        seen = Seen(asks(PRICE, said, *steps[:at]), knowledge, prepare(target))
        assert fire(seen).said == ()
