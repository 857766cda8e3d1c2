"""Patches apply exactly or not at all, and lead back."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from evener.protocols.error import PatchError
from evener.protocols.harness import Harness, Memory, Note, Prompt, Skill, Tool, When
from evener.protocols.patch import FieldEdit, Patch, PatchReason, between, merge
from evener.protocols.path import ABSENT, Value, overlap

LOOKUP = Tool(
    name="lookup",
    description="Find an item.",
    parameters={"type": "object", "properties": {"item": {"type": "string"}}},
    action="lookup",
)
HARNESS = Harness(
    name="seed",
    prompt=Prompt(system="Think step by step.\nUse the calculator for sums.\n"),
    tools=(LOOKUP, Tool(name="final", action="final")),
    skills=(Skill(name="price", when=When(words=("cost",)), text="Look it up."),),
    memory=Memory(entries=(Note(name="one", text="first"), Note(name="two", text="second"))),
)


def edit(path: str, old: Value = ABSENT, new: Value = ABSENT, at: int | None = None) -> FieldEdit:
    return FieldEdit(field_path=path, old_value=old, new_value=new, position=at)


def patch(*edits: FieldEdit, base: Harness = HARNESS) -> Patch:
    return Patch(base=base.digest(), edits=edits)


def refused(bad: Patch, harness: Harness = HARNESS) -> PatchError:
    before = harness.model_dump_json()
    with pytest.raises(PatchError) as caught:
        bad.apply(harness)
    assert harness.model_dump_json() == before
    return caught.value


def applied(change: Patch, harness: Harness, *, unless: set[PatchReason]) -> Harness | None:
    try:
        return change.apply(harness)
    except PatchError as error:
        if error.reason not in unless:
            raise
        return None


SYSTEM = HARNESS.prompt.system
NEW_SKILL: dict[str, JsonValue] = {"name": "convert", "text": "Use convert."}


@pytest.mark.parametrize(
    ("edits", "path", "value"),
    [
        ([edit("prompt.system", SYSTEM, "Be brief.")], ("prompt", "system"), "Be brief."),
        ([edit("middleware.loop.max_turns", 15, 30)], ("middleware", "loop", "max_turns"), 30),
        ([edit("prompt.system", SYSTEM)], ("prompt", "system"), ""),
        ([edit("skills[price].tools", ABSENT, ["lookup"])], ("skills", 0, "tools"), ["lookup"]),
        (
            [edit("tools[lookup].arguments.item.strip", ABSENT, True)],
            ("tools", 0, "arguments", "item", "strip"),
            True,
        ),
        (
            [edit("memory.entries[two].text", "second", "2nd")],
            ("memory", "entries", 1, "text"),
            "2nd",
        ),
        ([edit("skills[+]", ABSENT, NEW_SKILL)], ("skills", 1, "name"), "convert"),
        ([edit("skills[convert]", ABSENT, NEW_SKILL, 0)], ("skills", 0, "name"), "convert"),
        (
            [edit("memory.entries[one]", {"name": "one", "text": "first"})],
            ("memory", "entries", 0, "name"),
            "two",
        ),
        (
            [
                edit("skills[+]", ABSENT, NEW_SKILL),
                edit("skills[convert].text", "Use convert.", "!"),
            ],
            ("skills", 1, "text"),
            "!",
        ),
    ],
)
def test_a_patch_applies_and_leads_back(
    edits: list[FieldEdit], path: tuple[Any, ...], value: object
) -> None:
    change = patch(*edits)
    after = change.apply(HARNESS)
    here: Any = after.document()
    for step in path:
        here = here[step]
    assert here == value
    back = change.inverse(HARNESS)
    assert back.apply(after) == HARNESS
    assert len(back.edits) == len(change.edits)
    assert back.inverse(after).apply(HARNESS) == after


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (patch(), "empty"),
        (patch(edit("prompt.system", SYSTEM, "x"), base=Harness(name="other")), "wrong_base"),
        (patch(edit("prompt.system", SYSTEM.replace("for ", "for  "), "x")), "wrong_old_value"),
        (patch(edit("prompt.system", ABSENT, "x")), "wrong_old_value"),
        (patch(edit("skills[price].system", None, "x")), "wrong_old_value"),
        (patch(edit("middleware.loop.max_turns", 15.0, 30)), "wrong_old_value"),
        (patch(edit("middleware.protocol.strict", 1, False)), "wrong_old_value"),
        (patch(edit("prompt.system", SYSTEM, SYSTEM)), "no_change"),
        (patch(edit("prompt.system", SYSTEM, SYSTEM.replace("\n", "  \r\n"))), "no_change"),
        (patch(edit("memory.top_k", 3, ABSENT)), "no_change"),
        (patch(edit("skills[none].text", ABSENT, "x")), "no_such_place"),
        (patch(edit("skills[convert]", ABSENT, {"name": "other"})), "no_such_place"),
        (patch(edit("skills[2]", ABSENT, NEW_SKILL)), "no_such_place"),
        (patch(edit("skills[+]", ABSENT, NEW_SKILL, 2)), "no_such_place"),
        (patch(edit("skills[+]")), "no_such_place"),
        (patch(edit("prompt.system.more", ABSENT, "x")), "no_such_place"),
        (patch(edit("prompt.[system", ABSENT, "x")), "no_such_place"),
        (patch(edit("prompt.sistem", ABSENT, "x")), "invalid_result"),
        (patch(edit("prompt.system", SYSTEM, None)), "invalid_result"),
        (patch(edit("prompt.system", SYSTEM, "\ud800")), "invalid_result"),
        (patch(edit("skills[+]", ABSENT, {"name": "price"})), "invalid_result"),
        (patch(edit("middleware.loop.max_turns", 15, "30")), "invalid_result"),
    ],
)
def test_a_patch_that_does_not_fit_changes_nothing_and_says_why(
    bad: Patch, reason: PatchReason
) -> None:
    assert refused(bad).reason == reason


def test_a_failing_second_edit_undoes_the_first() -> None:
    refused(patch(edit("prompt.system", SYSTEM, "x"), edit("prompt.task", "wrong", "y")))


def test_a_wrong_old_value_is_answered_with_what_is_there() -> None:
    error = refused(patch(edit("memory.top_k", 4, 5)))
    assert "expected 4, found 3" in str(error)
    assert "memory.top_k" in str(error)
    assert "\n" not in str(error)


def test_spaces_inside_a_line_or_before_it_are_a_change() -> None:
    for new in ("Think  step by step.\nUse the calculator for sums.\n", " " + SYSTEM):
        assert patch(edit("prompt.system", SYSTEM, new)).apply(HARNESS).prompt.system == new


def test_line_ends_are_a_change_where_they_are_no_text() -> None:
    changed = patch(edit("middleware.loop.stop", [], ["\n"])).apply(HARNESS)
    again = patch(edit("middleware.loop.stop", ["\n"], ["\n\n"]), base=changed).apply(changed)
    assert again.middleware.loop.stop == ("\n\n",)


def test_a_written_value_is_not_shared_with_the_patch() -> None:
    value: dict[str, Any] = {"name": "convert", "examples": []}
    after = patch(edit("skills[+]", ABSENT, value)).apply(HARNESS)
    value["name"] = "changed"
    assert after.skills[1].name == "convert"


def test_an_inverse_takes_away_what_writing_made_on_the_way() -> None:
    change = patch(edit("tools[lookup].arguments.item.aliases", ABSENT, {"a": "b"}))
    assert change.inverse(HARNESS).edits == (
        edit(
            "tools[lookup].arguments.item",
            {"names": [], "aliases": {"a": "b"}, "strip": False, "lower": False},
        ),
    )


@pytest.mark.parametrize(
    "edits",
    [
        [
            edit("skills[price].name", "price", "cost"),
            edit("skills[cost].text", "Look it up.", "!"),
        ],
        [edit("skills[+]", ABSENT, {"name": "a]b"})],
        [edit("skills[price]", HARNESS.skills[0].document(), {"name": "renamed"})],
    ],
)
def test_edits_that_move_their_own_place_lead_back_all_the_same(edits: list[FieldEdit]) -> None:
    change = patch(*edits)
    assert change.inverse(HARNESS).apply(change.apply(HARNESS)) == HARNESS


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
names = st.sampled_from(["a", "b", "c", "d"])
notes = st.lists(st.builds(Note, name=names, text=words), max_size=4, unique_by=lambda n: n.name)
skills = st.lists(
    st.builds(
        Skill,
        name=names,
        text=words,
        system=st.none() | words,
        tools=st.none() | st.tuples(words),
        when=st.builds(When, words=st.tuples(words)),
    ),
    max_size=3,
    unique_by=lambda s: s.name,
)
harnesses = st.builds(
    Harness,
    name=st.just("h"),
    prompt=st.builds(Prompt, system=words, task=words),
    skills=skills.map(tuple),
    memory=st.builds(Memory, entries=notes.map(tuple)),
)


@st.composite
def edits_on(draw: st.DrawFn, harness: Harness) -> FieldEdit:
    """One edit that fits: a text, an optional field set or taken away, an item in or out."""
    kinds = ["text", "add"]
    kinds += ["remove_note"] if harness.memory.entries else []
    kinds += ["skill", "remove_skill"] if harness.skills else []
    match draw(st.sampled_from(kinds)):
        case "text":
            return edit("prompt.system", harness.prompt.system, draw(words))
        case "add":
            at = draw(st.none() | st.integers(0, len(harness.memory.entries)))
            new = draw(st.sampled_from(["w", "x", "y", "z"]))
            if any(note.name == new for note in harness.memory.entries):
                return edit("prompt.task", harness.prompt.task, draw(words))
            return edit("memory.entries[+]", ABSENT, {"name": new, "text": draw(words)}, at)
        case "remove_note":
            note = draw(st.sampled_from(harness.memory.entries))
            return edit(f"memory.entries[{note.name}]", note.document())
        case "remove_skill":
            skill = draw(st.sampled_from(harness.skills))
            return edit(f"skills[{skill.name}]", skill.document())
        case _:
            skill = draw(st.sampled_from(harness.skills))
            old = ABSENT if skill.system is None else skill.system
            return edit(f"skills[{skill.name}].system", old, draw(st.just(ABSENT) | words))


@settings(max_examples=50, deadline=None)
@given(harnesses, st.data())
def test_any_patch_that_applies_leads_back_edit_by_edit(
    harness: Harness, data: st.DataObject
) -> None:
    edits: list[FieldEdit] = []
    now = harness
    for _ in range(data.draw(st.integers(1, 4))):
        new = data.draw(edits_on(now))
        then = applied(patch(new, base=now), now, unless={"no_change"})
        if then is not None:
            now = then
            edits.append(new)
    change = patch(*edits, base=harness)
    after = applied(change, harness, unless={"empty", "no_change"})
    if after is None:
        return
    assert after == now
    back = change.inverse(harness)
    assert back.base == after.digest()
    assert back.apply(after) == harness
    assert Patch.model_validate_json(back.model_dump_json()) == back
    if len(edits) == 1:
        assert back.edits[0].field_path.startswith(edits[0].field_path.removesuffix("[+]"))


@settings(max_examples=40, deadline=None)
@given(harnesses, harnesses)
def test_the_patch_between_two_harnesses_leads_from_one_to_the_other(
    before: Harness, after: Harness
) -> None:
    found = applied(between(before, after), before, unless={"no_change", "empty"})
    assert found in (after, None)


def test_between_sees_what_python_takes_for_equal() -> None:
    true = Harness(name="h", tools=(Tool(name="t", action="a", parameters={"x": True}),))
    one = Harness(name="h", tools=(Tool(name="t", action="a", parameters={"x": 1}),))
    assert len(between(true, one).edits) == 1


def test_a_merge_has_the_edits_of_all_and_equal_ones_once() -> None:
    first = patch(edit("prompt.system", SYSTEM, "x"), edit("memory.top_k", 3, 5))
    second = patch(edit("memory.top_k", 3, 5), edit("skills[+]", ABSENT, NEW_SKILL))
    merged = merge([first, second])
    assert merged.edits == (*first.edits, second.edits[1])
    after = merged.apply(HARNESS)
    assert (after.prompt.system, after.memory.top_k, len(after.skills)) == ("x", 5, 2)


def test_edits_of_one_patch_may_build_on_each_other() -> None:
    own = patch(
        edit("skills[+]", ABSENT, NEW_SKILL), edit("skills[convert].text", "Use convert.", "!")
    )
    assert merge([own]) == own
    assert merge([own, patch(edit("memory.top_k", 3, 5))]).apply(HARNESS).skills[1].text == "!"


def test_two_new_items_without_names_are_both_kept() -> None:
    one, two = (
        patch(edit("prompt.examples[+]", ABSENT, [{"role": "user", "content": text}]))
        for text in "qr"
    )
    assert len(merge([one, two]).apply(HARNESS).prompt.examples) == 2


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (edit("memory.top_k", 3, 5), edit("memory.top_k", 3, 6)),
        (edit("memory.top_k", 3, 5), edit("memory", HARNESS.memory.document(), {})),
        (edit("skills[+]", ABSENT, NEW_SKILL), edit("skills[+]", ABSENT, {"name": "convert"})),
        (
            edit("skills[+]", ABSENT, NEW_SKILL),
            edit("skills[convert]", ABSENT, {"name": "convert"}),
        ),
        (edit("memory.top_k", 3, 1), edit("memory.top_k", 3, True)),
    ],
)
def test_patches_that_want_different_things_of_one_place_are_not_merged(
    left: FieldEdit, right: FieldEdit
) -> None:
    for one, other in ((left, right), (right, left)):
        with pytest.raises(PatchError) as caught:
            merge([patch(one), patch(other)])
        assert caught.value.reason == "conflict"


def test_a_merge_needs_one_base_and_something_to_merge() -> None:
    with pytest.raises(PatchError) as caught:
        merge([patch(edit("memory.top_k", 3, 5)), patch(base=Harness(name="other"))])
    assert caught.value.reason == "wrong_base"
    with pytest.raises(PatchError) as caught:
        merge([])
    assert caught.value.reason == "empty"


@settings(max_examples=40, deadline=None)
@given(harnesses, st.data())
def test_merged_patches_do_what_they_do_one_after_another(
    harness: Harness, data: st.DataObject
) -> None:
    one, two = (patch(data.draw(edits_on(harness)), base=harness) for _ in range(2))
    middle = applied(one, harness, unless={"no_change"})
    if middle is None:
        return
    second = Patch(base=middle.digest(), edits=two.edits)
    try:
        merged = merge([one, two])
    except PatchError:
        assert overlap(one.edits[0].field_path, two.edits[0].field_path) or same_item(one, two)
        return
    # two places of one list: what the first took out, the second no longer counts
    after = applied(merged, harness, unless={"no_change", "no_such_place"})
    if after is not None and one != two:
        assert applied(second, middle, unless={"no_change"}) in (after, None)


def same_item(one: Patch, two: Patch) -> bool:
    new = [change.edits[0].new_value for change in (one, two)]
    return all(isinstance(value, dict) for value in new) and one.base == two.base
