"""Trigger words come from the documentation, and tell the kinds apart in tasks nobody looked at."""

import pytest

from evener.agents.critics.catalogue.trigger import trigger_words
from evener.agents.harness.skill import active
from evener.agents.pattern import Background, published
from evener.environments.storefront.environment import Storefront
from evener.protocols.harness import ExampleCall, ExampleTurn, Skill, When
from evener.protocols.port import ActionSpec, WorkedExample
from evener.protocols.task import Split

WEIGH = ActionSpec(
    name="weigh",
    description="",
    parameters={
        "type": "object",
        "properties": {"scale": {"type": "string", "enum": ["foot", "stone"]}},
    },
)
CALL = ActionSpec(
    name="ring", description="", parameters={"properties": {"who": {"type": "string"}}}
)


def example(kind: str, asked: str, name: str, **arguments: str) -> WorkedExample:
    call = ExampleCall(name=name, arguments=dict(arguments))
    return WorkedExample(
        kind=kind,
        turns=(
            ExampleTurn(role="user", content=asked),
            ExampleTurn(role="assistant", call=call),
        ),
    )


BACKGROUND = Background(
    actions=(WEIGH, CALL),
    examples=(
        example("measure", "Olga measures 9 feet for the fence.", "weigh", scale="foot"),
        example("measure", "Piet measures 4 stones for the barn.", "weigh", scale="stone"),
        example("phone", "Olga phones the baker for bread.", "ring", who="baker"),
        example("phone", "Piet phones the baker for rolls.", "ring", who="baker"),
    ),
)


def test_names_grammar_and_what_fills_an_argument_are_no_triggers() -> None:
    assert trigger_words("phone", BACKGROUND) == ("phones",)


def test_listed_values_are_triggers_as_questions_write_them() -> None:
    words = trigger_words("measure", BACKGROUND)
    assert {"foot", "feet", "stone", "stones", "measures"} <= set(words)
    assert not {"for", "the", "olga", "piet", "baker"} & set(words)


def test_an_irregular_plural_is_learnt_from_a_question_and_its_call() -> None:
    assert BACKGROUND.spellings("weigh", "scale") == {"feet": "foot"}


@pytest.mark.parametrize("split", [Split.HELD_IN, Split.OOD])
async def test_they_tell_the_kinds_of_fresh_tasks_apart(split: Split) -> None:
    environment = Storefront()
    background = await published(environment)
    skills = [
        Skill(name=kind, when=When(words=trigger_words(kind, background)))
        for kind in background.kinds()
    ]
    tasks = environment.tasks(split, count=90, seed=11)
    right = sum([s.name for s in active(skills, t.prompt)] == [t.kind] for t in tasks)
    assert right >= 0.9 * len(tasks)
