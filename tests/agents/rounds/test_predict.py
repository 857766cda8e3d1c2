"""Which tasks a patch is said to repair or to touch, and how that is scored."""

import pytest

from evener.agents.harness.load import load
from evener.agents.rounds.predict import Came, predict, score
from evener.environments.storefront import Storefront, harness_path
from evener.protocols.attribution import Proposal
from evener.protocols.diff import Prediction
from evener.protocols.error import PatchError
from evener.protocols.harness import Harness, Memory, Note, Skill, When
from evener.protocols.patch import Patch, between
from evener.protocols.task import Split, Task

TASKS = {t.kind: t for t in Storefront().tasks(Split.MINE, count=4, seed=1)}
KINDS = set(TASKS)


@pytest.fixture
def hand() -> Harness:
    """A skill for each kind of task, with tools of its own."""
    return load(harness_path("hand"))


def proposal(before: Harness, after: Harness, *signatures: str) -> Proposal:
    return Proposal(
        name="p", author="rule", patch=between(before, after), signatures=tuple(signatures)
    )


def touched(before: Harness, after: Harness) -> set[str]:
    found = predict(proposal(before, after), before, aimed=[], solved=list(TASKS.values()))
    return {kind for kind, task in TASKS.items() if task.id in found.breaks}


def changed(harness: Harness, name: str, **update: object) -> Harness:
    """The harness with one skill changed."""
    skills = [s.model_copy(update=update) if s.name == name else s for s in harness.skills]
    return harness.model_copy(update={"skills": tuple(skills)})


def named(text: str) -> Task:
    return Task(id=text, split=Split.MINE, prompt=text)


def test_fixes_are_the_tasks_it_is_aimed_at_each_once(hand: Harness) -> None:
    after = changed(hand, "price", text="Look it up.")
    aimed = [named("a"), named("c"), named("a")]
    assert predict(proposal(hand, after), hand, aimed=aimed, solved=[]).fixes == ("a", "c")


def test_a_skill_touches_the_tasks_it_is_active_for(hand: Harness) -> None:
    assert touched(hand, changed(hand, "price", text="Look it up.")) == {"price"}
    assert touched(hand, changed(hand, "convert", examples=())) == {"convert"}
    gone = hand.model_copy(update={"skills": hand.skills[1:]})
    assert touched(hand, gone) == {"calc"}
    # a trigger that changes nothing for these tasks
    assert touched(hand, changed(hand, "price", when=When(words=("total", "price")))) == set()
    assert touched(hand, changed(hand, "price", when=When(words=("nonsense",)))) == {"price"}


def test_the_prompt_touches_the_tasks_that_are_shown_it(hand: Harness) -> None:
    system = hand.model_copy(
        update={"prompt": hand.prompt.model_copy(update={"system": "Be quick. {{ tools }}"})}
    )
    assert touched(hand, system) == KINDS
    # examples of an active skill take the place of the prompt's
    shown = hand.model_copy(
        update={"prompt": hand.prompt.model_copy(update={"examples": hand.skills[0].examples})}
    )
    assert touched(hand, shown) == set()
    assert touched(changed(hand, "calc", examples=()), changed(shown, "calc", examples=())) == {
        "calc"
    }


def test_the_loop_touches_every_task(hand: Harness) -> None:
    for part, value in (
        ("loop", hand.middleware.loop.model_copy(update={"max_turns": 9})),
        ("hooks", type(hand.middleware.hooks)()),
        ("context", hand.middleware.context.model_copy(update={"keep_tokens": 9})),
        ("protocol", hand.middleware.protocol.model_copy(update={"strict": True})),
    ):
        middleware = hand.middleware.model_copy(update={part: value})
        other = hand.model_copy(update={"middleware": middleware})
        assert touched(hand, other) == KINDS


def test_a_tool_touches_the_tasks_it_is_offered_to(hand: Harness) -> None:
    calculator, lookup, *rest = hand.tools
    named = lookup.model_copy(update={"aliases": ("price_of",)})
    other = hand.model_copy(update={"tools": (calculator, named, *rest)})
    assert touched(hand, other) == {"price", "bill"}


def test_a_note_touches_the_tasks_that_recall_it(hand: Harness) -> None:
    note = Note(name="n", text="Inches, centimeters.")
    remembering = hand.model_copy(update={"memory": Memory(policy="retrieval", entries=(note,))})
    assert touched(hand, remembering) == {"convert"}
    everywhere = hand.model_copy(update={"memory": Memory(policy="notes", entries=(note,))})
    assert touched(hand, everywhere) == KINDS
    silent = hand.model_copy(update={"memory": Memory(policy="none", entries=(note,))})
    assert touched(hand, silent) == set()


def test_a_skill_that_a_call_may_wake_touches_where_the_call_can_be_made(hand: Harness) -> None:
    late = Skill(name="late", when=When(tools=("lookup",)), text="Now multiply.")
    waking = hand.model_copy(update={"skills": (*hand.skills, late)})
    assert touched(hand, waking) == {"price", "bill"}
    reworded = changed(waking, "late", text="Multiply now.")
    assert touched(waking, reworded) == {"price", "bill"}
    retriggered = changed(waking, "late", when=When(tools=("convert",)))
    assert touched(waking, retriggered) == {"price", "bill", "convert"}
    # another tool that these tasks are not offered, another word that they do not have
    more = changed(waking, "late", when=When(words=("nonsense",), tools=("lookup",)))
    assert touched(waking, more) == set()


def test_a_patch_of_another_harness_predicts_nothing(hand: Harness) -> None:
    other = changed(hand, "price", text="Look it up.")
    patch = Patch(base="0" * 64, edits=between(hand, other).edits)
    with pytest.raises(PatchError):
        predict(Proposal(name="p", author="rule", patch=patch), hand, aimed=[], solved=[])


def test_a_prediction_is_scored_on_the_tasks_that_were_scored_twice() -> None:
    prediction = Prediction(fixes=("a", "b", "lost", "new"), breaks=("e", "f", "new"))
    before = {"a": False, "b": False, "c": False, "d": True, "e": True, "f": True, "lost": False}
    after = {"a": True, "b": False, "c": True, "d": False, "e": False, "f": True, "new": True}
    assert score(prediction, before, after) == Came(fixes_true=1, breaks_true=1, fixed=2, broken=2)
    assert score(prediction, {}, after) == Came()


def test_an_unforeseen_change_is_counted_and_not_credited() -> None:
    nothing = Prediction()
    found = score(nothing, {"a": False, "b": True}, {"a": True, "b": False})
    assert found == Came(fixes_true=0, breaks_true=0, fixed=1, broken=1)
