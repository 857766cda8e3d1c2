"""K in words, for a model that reviews."""

from evener.agents.knowledge.render import prompt_of
from evener.protocols.harness import Harness, WireFormat
from evener.protocols.knowledge import Knowledge


def test_it_holds_recipes_guidance_and_patterns_and_is_short(knowledge: Knowledge) -> None:
    text = prompt_of(knowledge)
    assert (
        "- quote(item, quantity) (The total price of a quantity of one item): "
        "lookup(item=<item>), then calculator(expression=<quantity>*<result>)"
    ) in text
    assert "When the task has one of: price, cost, pay, pieces: Call lookup" in text
    assert 'response: {"name": "calculator", "arguments": {"expression": "79*52"}}' in text
    assert "The answer is the last result, as it is." in text
    assert "- lookup(" not in text  # the target's own tool under its own name
    assert len(text) < 4000


def test_examples_are_as_many_as_wanted(knowledge: Knowledge) -> None:
    assert "task:" not in prompt_of(knowledge, examples=0)
    assert prompt_of(knowledge, examples=2).count("task:") == 2 * len(knowledge.guidance)


def test_calls_are_in_the_target_s_protocol(knowledge: Knowledge, target: Harness) -> None:
    protocol = WireFormat(format="hermes")
    middleware = target.middleware.model_copy(update={"protocol": protocol})
    hermes = target.model_copy(update={"middleware": middleware})
    assert 'response: <tool_call> {"name": "lookup"' in prompt_of(knowledge, target=hermes)


def test_an_empty_k_says_nothing() -> None:
    assert prompt_of(Knowledge(name="empty", source="", target="")) == ""
