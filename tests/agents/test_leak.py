"""Task text that a patch may not bring into a harness, and text that it may."""

from collections.abc import Sequence

import pytest
from pydantic import JsonValue

from evener.agents.critics.catalogue import Ground, repairs
from evener.agents.harness.load import load
from evener.agents.leak import LeakGuard
from evener.agents.pattern import Background, published
from evener.environments.storefront import Storefront, harness_path
from evener.protocols.error import DataError
from evener.protocols.harness import ExampleTurn, Harness, Note, Prompt, Skill, When
from evener.protocols.patch import FieldEdit, Patch
from evener.protocols.path import ABSENT
from evener.protocols.port import Session, WorkedExample
from evener.protocols.task import Split, Task

SENTENCE = "The clerk counts {} boxes in the cellar and then goes home for the night."
RIDDLE = "Which of the seven bridges did nobody ever cross twice in one long walk?"
TAIL = "Please give the answer as a whole number and nothing else at all."


class Shelf:
    """A finite environment; it opens no episode, so whoever reads an answer fails."""

    name = "shelf"
    digest = "0" * 64

    def __init__(self, **prompts: Sequence[str]) -> None:
        self._prompts = {Split(split): texts for split, texts in prompts.items()}

    def tasks(self, split: Split, *, count: int, seed: int) -> Sequence[Task]:
        pool = self._prompts.get(split, ())
        if not 1 <= count <= len(pool):
            raise DataError(f"{split} has {len(pool)} tasks")
        return [
            Task(id=f"{split}-{at}", split=split, prompt=text)
            for at, text in enumerate(pool[:count])
        ]

    async def open(self, task: Task, *, seed: int) -> Session:
        raise AssertionError("the guard opens no episode")


ALL = tuple((split, 1000, 5) for split in Split)


def told(*questions: str) -> Background:
    return Background(
        examples=tuple(
            WorkedExample(kind="k", turns=(ExampleTurn(role="user", content=question),))
            for question in questions
        )
    )


def guard(*documented: str, **prompts: Sequence[str]) -> LeakGuard:
    return LeakGuard(Shelf(**prompts), told(*documented), ALL)


def saying(text: str, harness: Harness | None = None) -> tuple[Patch, Harness]:
    """A patch that says something in the system text."""
    harness = harness or Harness(name="h", prompt=Prompt(system="Be brief."))
    old = harness.prompt.system
    edit = FieldEdit(field_path="prompt.system", old_value=old, new_value=f"{old} {text}")
    return Patch(base=harness.digest(), edits=(edit,)), harness


@pytest.mark.parametrize("split", list(Split))
def test_a_task_of_any_split_is_known_and_named(split: Split) -> None:
    knows = guard(
        **{split.value: [RIDDLE, "Something else that is not to be repeated here, ever."]}
    )
    found = knows.fault(*saying(f"Note: {RIDDLE.upper()} (see above)"))
    assert f"a task of {split}:" in found
    assert "'which of the seven bridges did nobody ever'" in found
    assert "\n" not in found
    assert knows.fault(*saying("Cross each of the seven bridges twice, on one long walk.")) == ""


def test_eight_words_are_enough_and_seven_are_not() -> None:
    knows = guard(test=[RIDDLE])
    words = RIDDLE.split()
    for start in (0, 3, len(words) - 8):
        assert knows.fault(*saying(" ".join(words[start : start + 8])))
    assert knows.fault(*saying(" ".join(words[3:10]))) == ""


def test_a_documented_sentence_passes_with_its_own_numbers_and_not_with_a_tasks() -> None:
    documented = SENTENCE.format(17), SENTENCE.format(23)
    knows = guard(*documented, test=[SENTENCE.format(411), SENTENCE.format(58)])
    assert knows.fault(*saying(documented[0])) == ""
    assert "411" in knows.fault(*saying(SENTENCE.format(411)))
    # the same sentence with numbers of no task tells none
    assert knows.fault(*saying(SENTENCE.format(99))) == ""


def test_words_that_one_example_shares_with_many_tasks_are_the_templates() -> None:
    tasks = [f"{text} {TAIL}" for text in (RIDDLE, SENTENCE.format(411))]
    knows = guard(f"How many legs have three spiders? {TAIL}", held_out=tasks)
    assert knows.fault(*saying(TAIL)) == ""
    assert knows.fault(*saying(tasks[0]))
    # two examples make it the documentation's, even if one task alone has it
    twice = guard(f"How many legs have spiders? {TAIL}", f"Say a number. {TAIL}", test=tasks[:1])
    assert twice.fault(*saying(TAIL)) == ""
    undocumented = guard(held_out=tasks)
    assert undocumented.fault(*saying(TAIL))


def test_a_task_that_got_into_the_documentation_is_still_a_task() -> None:
    knows = guard(RIDDLE, f"Another one. {TAIL}", test=[f"Think. {RIDDLE}"], mine=[TAIL])
    assert "a task of test" in knows.fault(*saying(RIDDLE))
    # said twice in one example it is still one example's
    insisting = guard(f"{RIDDLE} Again: {RIDDLE}", test=[RIDDLE])
    assert insisting.fault(*saying(RIDDLE))


def test_text_that_the_harness_has_already_is_not_the_patchs() -> None:
    knows = guard(test=[RIDDLE])
    _, harness = saying("")
    old = harness.model_copy(update={"prompt": Prompt(system=f"So: {RIDDLE}")})
    assert knows.fault(*saying("Be quick.", old)) == ""
    skill = Skill(name="s", when=When(words=("bridges",)), text=RIDDLE)
    copied = FieldEdit(field_path="skills[s]", old_value=ABSENT, new_value=skill.document())
    patch = Patch(base=old.digest(), edits=(copied,))
    assert knows.fault(patch, old) == ""
    assert knows.fault(Patch(base=harness.digest(), edits=(copied,)), harness)


def test_text_counts_wherever_a_patch_may_put_it() -> None:
    knows = guard(test=[RIDDLE])
    harness = Harness(name="h")
    words = RIDDLE.strip("?").split()
    note = Note(name="n", text=RIDDLE).document()
    trigger = Skill(name="s", when=When(words=tuple(words))).document()
    example = [ExampleTurn(role="user", content=RIDDLE).document()]
    places: dict[str, JsonValue] = {
        "memory.entries[n]": note,
        "skills[s]": trigger,
        "prompt.examples[+]": [*example],
    }
    for path, value in places.items():
        edit = FieldEdit(field_path=path, old_value=ABSENT, new_value=value)
        assert knows.fault(Patch(base=harness.digest(), edits=(edit,)), harness)


def test_a_patch_that_does_not_apply_is_judged_by_its_edits() -> None:
    knows = guard(test=[RIDDLE])
    patch, harness = saying(RIDDLE)
    other = harness.model_copy(update={"name": "other"})
    assert knows.fault(patch, other)
    assert knows.fault(saying("Be quick.")[0], other) == ""


def test_short_prompts_are_looked_for_as_a_whole() -> None:
    knows = guard(test=["What is 12 times 30?", "12+3"])
    assert knows.fault(*saying("Example: what is 12 times 30"))
    assert knows.fault(*saying("What is 12 times 31? What times is 12?")) == ""
    # too short to tell anything
    assert knows.fault(*saying("Give 12, 3 or both.")) == ""


def test_a_split_gives_the_tasks_it_has() -> None:
    # fewer than asked for in one split, none in the others
    assert guard(ood=[RIDDLE]).fault(*saying(RIDDLE))
    assert guard().fault(*saying(RIDDLE)) == ""


def test_no_repair_of_the_shop_desk_repeats_a_task_and_a_tasks_prompt_does() -> None:
    desk = Storefront()
    draws = [(split, 120, 7) for split in Split]
    background = Background(examples=desk.examples())
    knows = LeakGuard(desk, background, draws)
    harness = load(harness_path("seed"))
    ground = Ground(harness, background)
    for kind in background.kinds():
        for repair in repairs(f"no_example:{kind}", (), ground):
            patch = Patch(base=harness.digest(), edits=repair.edits)
            assert knows.fault(patch, harness) == ""
    for split in Split:
        for task in desk.tasks(split, count=30, seed=7):
            assert f"a task of {split}:" in knows.fault(*saying(task.prompt))


async def test_what_the_environment_says_of_its_actions_may_be_repeated() -> None:
    background = await published(Storefront())
    text = background.actions[1].description
    assert len(text.split()) > 8
    tasks = [f"Quote the manual, page {page}. {text}" for page in (1, 2)]
    knows = LeakGuard(Shelf(test=tasks), background, ALL)
    assert knows.fault(*saying(text)) == ""
