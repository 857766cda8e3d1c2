"""A K that does not hold together is refused in one line that lists what is wrong."""

from collections.abc import Callable
from typing import Any

import pytest

from evener.agents.knowledge.check import check_knowledge
from evener.agents.leak import LeakGuard
from evener.agents.pattern import Background
from evener.environments.storefront import Storefront
from evener.protocols.error import KnowledgeError
from evener.protocols.harness import ArgumentRule, ExampleCall, ExampleTurn, Harness, Step, When
from evener.protocols.knowledge import Knowledge
from evener.protocols.task import Split

Refusal = Callable[[Knowledge], str]


@pytest.fixture
def refusal(optimized: Harness, target: Harness, background: Background) -> Refusal:
    def of(knowledge: Knowledge) -> str:
        with pytest.raises(KnowledgeError) as caught:
            check_knowledge(knowledge, optimized, target, background, None)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return of


def first(knowledge: Knowledge, field: str, **update: Any) -> Knowledge:
    """K with something changed in the first entry of a list."""
    (one, *rest) = getattr(knowledge, field)
    return knowledge.model_copy(update={field: (one.model_copy(update=update), *rest)})


def test_a_call_of_a_tool_that_the_target_lacks(knowledge: Knowledge, refusal: Refusal) -> None:
    call = ExampleTurn(role="assistant", call=ExampleCall(name="quote", arguments={}))
    assert "There is no tool 'quote'" in refusal(first(knowledge, "recipes", example=(call,)))
    examples = ((call,), (), ())
    assert "guidance[calc].examples[0][0]" in refusal(
        first(knowledge, "guidance", examples=examples)
    )


def test_a_call_whose_arguments_do_not_fit(knowledge: Knowledge, refusal: Refusal) -> None:
    call = ExampleTurn(role="assistant", call=ExampleCall(name="lookup", arguments={"x": 1}))
    assert "lookup was not called" in refusal(first(knowledge, "recipes", example=(call,)))


def test_a_call_that_only_fits_after_mending(knowledge: Knowledge, refusal: Refusal) -> None:
    answer = ExampleCall(name="final", arguments={"answer": "12"})
    call = ExampleTurn(role="assistant", call=answer)
    assert "only fit after being mended" in refusal(first(knowledge, "recipes", example=(call,)))


def test_a_call_in_words(knowledge: Knowledge, refusal: Refusal) -> None:
    turn = ExampleTurn(role="assistant", content="I use lookup(lamp)")
    assert "a call in words" in refusal(first(knowledge, "recipes", example=(turn,)))


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (Step(action="quote"), "the target has no tool quote"),
        (Step(action="lookup", arguments={"item": "{{ thing }}"}), "{{ thing }} is not a variable"),
        (Step(action="lookup", arguments={"item": "{{ result }}"}), "is not a variable here"),
        (Step(action="lookup", arguments={"item": "{{ "}), "not a template"),
        (Step(action="lookup", arguments={"item": "a", "b": "c"}), "takes no argument b"),
        (Step(action="convert", arguments={"value": "1"}), "wants from, which nothing gives"),
    ],
)
def test_a_step_that_cannot_be_taken(
    step: Step, said: str, knowledge: Knowledge, refusal: Refusal
) -> None:
    assert said in refusal(first(knowledge, "recipes", steps=(step,)))


@pytest.mark.parametrize(
    ("update", "said"),
    [
        ({"rule": "guess"}, "there is no rule 'guess'"),
        ({"settings": {"much": 1}}, "settings.much"),
        ({"text": "{{ answer }}"}, "{{ answer }} is not a variable here"),
        ({"text": " "}, "an empty text"),
        ({"text": "Try quote instead."}, "it names quote, which the target lacks"),
        ({"source": "middleware.hooks.after_model[guess]"}, "which the optimized harness has not"),
        ({"rule": "no_action", "settings": {"final": ["end"]}}, "the target has no tool end"),
    ],
)
def test_a_hint_that_cannot_be_asked(
    update: dict[str, Any], said: str, knowledge: Knowledge, refusal: Refusal
) -> None:
    assert said in refusal(first(knowledge, "hints", **update))


def test_a_text_that_names_a_tool_of_h_star(knowledge: Knowledge, refusal: Refusal) -> None:
    text = "Use quote for it."
    assert "it names quote" in refusal(first(knowledge, "guidance", text=text))
    assert "it names quote" in refusal(first(knowledge, "patterns", intervention=text))
    assert "no tool quote" in refusal(first(knowledge, "guidance", when=When(tools=("quote",))))


def test_a_word_that_is_none_and_a_rule_for_no_parameter(
    knowledge: Knowledge, refusal: Refusal
) -> None:
    assert "an empty word" in refusal(first(knowledge, "guidance", when=When(words=("a", " "))))
    rules = {"nothing": ArgumentRule(strip=True)}
    for parameters in (knowledge.recipes[0].parameters, {}):
        changed = first(knowledge, "recipes", mends=rules, parameters=parameters)
        assert "there is no parameter nothing" in refusal(changed)
    silent = (Step(action="lookup", arguments={}),)
    changed = first(knowledge, "recipes", mends=rules, parameters={}, steps=silent)
    assert "there is no parameter" not in refusal(changed)


def test_a_part_that_is_untold_and_a_reason_that_is_none(
    knowledge: Knowledge, refusal: Refusal
) -> None:
    fewer = knowledge.model_copy(update={"patterns": ()})
    assert "no entry and no reason for memory.entries[result]" in refusal(fewer)
    assert "left out without a reason" in refusal(first(knowledge, "omissions", reason=" "))


def test_two_entries_of_one_name(knowledge: Knowledge, refusal: Refusal) -> None:
    twice = knowledge.model_copy(update={"hints": (*knowledge.hints, knowledge.hints[0])})
    assert "two hints of 'repair_call'" in refusal(twice)


def test_k_of_another_pair(
    knowledge: Knowledge, optimized: Harness, target: Harness, background: Background
) -> None:
    other = target.model_copy(update={"name": "another"})
    with pytest.raises(KnowledgeError, match="for another target harness"):
        check_knowledge(knowledge, optimized, other, background, None)
    other = optimized.model_copy(update={"name": "another"})
    with pytest.raises(KnowledgeError, match="for another optimized harness"):
        check_knowledge(knowledge, other, target, background, None)


def test_all_faults_are_in_the_one_line(knowledge: Knowledge, refusal: Refusal) -> None:
    bad = first(first(knowledge, "hints", rule="guess"), "guidance", text="Use quote.")
    said = refusal(bad)
    assert "no rule 'guess'" in said
    assert "names quote" in said


@pytest.mark.parametrize("split", [*Split])
def test_text_of_a_task_of_any_split(
    split: Split, knowledge: Knowledge, optimized: Harness, target: Harness, background: Background
) -> None:
    desk = Storefront()
    guard = LeakGuard(desk, background, [(one, 12, 5) for one in Split])
    check_knowledge(knowledge, optimized, target, background, guard)
    task = desk.tasks(split, count=12, seed=5)[3]
    for leaking in (
        first(knowledge, "patterns", intervention=f"If asked: {task.prompt}"),
        first(knowledge, "omissions", reason=task.prompt),
        first(knowledge, "recipes", text=task.prompt),
    ):
        with pytest.raises(KnowledgeError, match=f"repeats the words of a task of {split}"):
            check_knowledge(leaking, optimized, target, background, guard)
