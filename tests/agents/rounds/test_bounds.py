"""What a patch of the search may bring in, to the edge of each bound."""

import pytest

from evener.agents.critics.lighter import shown_size
from evener.agents.plan import Search
from evener.agents.rounds.bounds import Bounds, edit_budget
from evener.protocols.harness import Harness, Prompt
from evener.protocols.patch import FieldEdit, Patch, between

HARNESS = Harness(name="start", prompt=Prompt(system="ten chars.", task="{{ question }}"))


class Lets:
    def fault(self, patch: Patch, harness: Harness, /) -> str:
        return ""


class Sees:
    def fault(self, patch: Patch, harness: Harness, /) -> str:
        return "a task's words"


def longer(by: int) -> Patch:
    prompt = HARNESS.prompt.model_copy(update={"system": HARNESS.prompt.system + "x" * by})
    return between(HARNESS, HARNESS.model_copy(update={"prompt": prompt}))


def test_a_prompt_may_grow_to_the_bound_and_not_a_character_further() -> None:
    bounds = Bounds(HARNESS, edits=9, size=shown_size(HARNESS) + 5, guard=Lets())
    assert bounds.fault(longer(5)) == ""
    assert "characters before the task" in bounds.fault(longer(6))


def test_a_harness_beyond_the_bound_may_still_change_without_growing() -> None:
    bounds = Bounds(HARNESS, edits=9, size=0, guard=Lets())
    prompt = HARNESS.prompt.model_copy(update={"system": "other text"})
    other = between(HARNESS, HARNESS.model_copy(update={"prompt": prompt}))
    assert bounds.fault(other) == ""
    assert bounds.fault(longer(1)) != ""


def test_a_patch_may_have_as_many_edits_as_the_round_allows_and_no_more() -> None:
    edits = (
        FieldEdit(field_path="name", old_value="start", new_value="end"),
        FieldEdit(field_path="prompt.system", old_value="ten chars.", new_value="ten chars!"),
    )
    patch = Patch(base=HARNESS.digest(), edits=edits)
    assert Bounds(HARNESS, edits=2, size=99, guard=Lets()).fault(patch) == ""
    fault = Bounds(HARNESS, edits=1, size=99, guard=Lets()).fault(patch)
    assert fault == "2 edits; a patch of this round has 1 at most"


def test_a_patch_that_does_not_apply_or_repeats_a_task_is_refused() -> None:
    stale = Patch(base="0" * 64, edits=longer(1).edits)
    assert "is against" in Bounds(HARNESS, edits=9, size=99, guard=Lets()).fault(stale)
    assert Bounds(HARNESS, edits=9, size=99, guard=Sees()).fault(longer(1)) == "a task's words"


@pytest.mark.parametrize(("number", "most"), [(1, 10), (2, 5), (3, 2), (9, 1)])
def test_the_edits_of_a_patch_shrink_from_the_second_round_on(number: int, most: int) -> None:
    assert edit_budget(Search(edits=10, shrink=0.5), number) == most
