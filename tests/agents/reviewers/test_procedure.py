"""K's procedure for a task: its tools in turn, how far an episode is, the answer at its end."""

import json
from collections.abc import Callable

import pytest

from evener.agents.knowledge.seen import Seen
from evener.agents.reviewers.procedure import answer_with_last_result, procedure_of, steps_done
from evener.agents.reviewers.space import ActionSpace
from evener.protocols.harness import When
from evener.protocols.knowledge import Knowledge
from evener.protocols.wire import ReviewRequest

About = Callable[..., ReviewRequest]
Sees = Callable[..., Seen]
PRICE = "Julia orders 12 pieces of red lamp. What is the total price?"


def call(name: str, **arguments: object) -> str:
    return json.dumps({"name": name, "arguments": arguments})


LOOKUP = call("lookup", item="red lamp")
TIMES = call("calculator", expression="12*34")


@pytest.fixture
def sees(knowledge: Knowledge, space: ActionSpace, about: About) -> Sees:
    def made(*told: str, prompt: str = PRICE, by: Knowledge = knowledge) -> Seen:
        return Seen(about("?", *told, prompt=prompt), by, space.runtime)

    return made


def test_it_is_the_way_of_the_guidance_that_the_task_sets_off(sees: Sees) -> None:
    assert procedure_of(sees()) == ("lookup", "calculator", "final")
    assert procedure_of(sees(prompt="Good morning.")) == ()


def test_guidance_that_goes_different_ways_is_none(sees: Sees, knowledge: Knowledge) -> None:
    (price,) = [one for one in knowledge.guidance if one.skill == "price"]
    answer = tuple((example[0], example[-1]) for example in price.examples)
    other = price.model_copy(update={"skill": "other", "examples": answer})
    for guidance in ((price, other), (other, price)):
        assert procedure_of(sees(by=knowledge.model_copy(update={"guidance": guidance}))) == ()


def test_guidance_without_a_trigger_of_its_own_is_for_no_task(
    sees: Sees, knowledge: Knowledge
) -> None:
    always = tuple(one.model_copy(update={"when": When()}) for one in knowledge.guidance)
    assert procedure_of(sees(by=knowledge.model_copy(update={"guidance": always[:1]}))) == ()


@pytest.mark.parametrize(
    ("told", "done"),
    [
        ([], 0),
        ([LOOKUP, "34"], 1),
        ([LOOKUP, "34", TIMES, "408"], 2),
        ([TIMES, "408"], 0),
        ([TIMES, "408", LOOKUP, "34"], 1),
        ([LOOKUP, "there is no such item"], 0),
        ([LOOKUP, "there is no such item", LOOKUP, "34"], 1),
        ([LOOKUP, "34", LOOKUP, "34"], 1),
    ],
)
def test_a_step_is_done_that_worked_in_its_turn(sees: Sees, told: list[str], done: int) -> None:
    seen = sees(*told)
    assert steps_done(procedure_of(seen), seen) == done


def test_the_answer_is_the_last_number_of_the_last_result(sees: Sees, knowledge: Knowledge) -> None:
    worded = knowledge.model_copy(update={"guidance": ()})  # nothing says that results are bare
    seen = sees(LOOKUP, "7", TIMES, "12 times 34 is 408", by=worded)
    answer = answer_with_last_result("final", seen)
    assert answer is not None
    assert answer.arguments == {"answer": 408}
    assert answer_with_last_result("final", sees()) is None
    assert answer_with_last_result("convert", seen) is None
