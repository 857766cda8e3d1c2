"""Lighter forms of the harnesses that ship, and what counts as shown."""

import pytest

from evener.agents.critics.lighter import lighter, shown_size
from evener.agents.harness.check import check
from evener.agents.harness.load import load
from evener.agents.pattern import Background, published
from evener.environments.storefront import HARNESSES, Storefront, harness_path
from evener.protocols.harness import (
    ExampleCall,
    ExampleTurn,
    Harness,
    Hook,
    Hooks,
    Memory,
    Note,
    Prompt,
    Skill,
    Tool,
    WireFormat,
)


@pytest.fixture
async def background() -> Background:
    return await published(Storefront())


def shop(name: str) -> Harness:
    return load(harness_path(name))


def forms(harness: Harness, background: Background) -> dict[str, Harness]:
    return {p.name: p.patch.apply(harness) for p in lighter(harness, background)}


@pytest.mark.parametrize("name", HARNESSES)
def test_every_lighter_form_applies_runs_and_shows_no_more(
    background: Background, name: str
) -> None:
    harness = shop(name)
    offered = lighter(harness, background)
    after = [p.patch.apply(harness) for p in offered]
    assert offered
    for proposal, patched in zip(offered, after, strict=True):
        check(patched, background.actions)
        assert proposal.patch.inverse(harness).apply(patched) == harness
        assert (proposal.kind, proposal.author) == ("simplify", "rule")
        assert (proposal.group, proposal.signatures) == ("lighter", ())
        assert proposal.rank == shown_size(harness) - shown_size(patched) >= 0
    sizes = [shown_size(patched) for patched in after]
    assert sizes == sorted(sizes)
    assert len({h.digest() for h in (harness, *after)}) == len(after) + 1


def test_examples_go_from_the_prompt_and_from_every_skill(background: Background) -> None:
    hand = shop("hand")
    shown = hand.model_copy(
        update={"prompt": hand.prompt.model_copy(update={"examples": hand.skills[0].examples})}
    )
    found = forms(shown, background)
    for name, number in (
        ("lighter-no-examples", 0),
        ("lighter-1-example", 1),
        ("lighter-2-examples", 2),
    ):
        places = (found[name].prompt.examples, *(s.examples for s in found[name].skills))
        assert [len(place) for place in places] == [number] * 5
    assert found["lighter-2-examples"].skills[1].examples == hand.skills[1].examples[:2]


def test_a_form_that_changes_nothing_is_not_offered(background: Background) -> None:
    # the target harness has one example and no hooks: only dropping it changes anything
    assert list(forms(shop("target"), background)) == ["lighter-no-examples"]


def test_hooks_are_removed_and_nothing_else_with_them(background: Background) -> None:
    optimized = shop("optimized")
    bare = forms(optimized, background)["lighter-no-hooks"]
    assert bare.middleware.hooks == Hooks()
    assert bare == optimized.model_copy(
        update={"middleware": optimized.middleware.model_copy(update={"hooks": Hooks()})}
    )


def test_a_skill_without_its_system_text_does_not_get_the_prompts_back(
    background: Background,
) -> None:
    hand = shop("hand")
    first, *rest = hand.skills
    spoken = first.model_copy(update={"system": "Work it out."})
    harness = hand.model_copy(update={"skills": (spoken, *rest)})
    mute = forms(harness, background)["lighter-no-skill-system"]
    assert [s.system for s in mute.skills] == ["", None, None, None]


def test_a_form_that_cannot_run_is_not_offered(background: Background) -> None:
    seed = shop("seed")
    endless = seed.model_copy(update={"tools": seed.tools[:3]})
    assert lighter(endless, background) == ()


def test_shown_size_adds_up_what_stands_before_a_task() -> None:
    turns = (
        ExampleTurn(role="user", content="12345"),
        ExampleTurn(role="assistant", call=ExampleCall(name="abc", arguments={"k": 1})),
    )
    tool = Tool(
        name="abc",
        description="four",
        parameters={"type": "object", "properties": {"k": {"type": "integer"}}},
        action="abc",
    )
    plain = Harness(name="h", prompt=Prompt(system="0123456789"))
    assert shown_size(plain) == 10
    assert shown_size(plain.model_copy(update={"tools": (tool,)})) == 10
    listing = Prompt(system="{{ tools }}", examples=(turns,))
    listed = Harness(name="h", prompt=listing, tools=(tool,))
    assert shown_size(listed) == 11 + (3 + 4 + 1) + (5 + 3 + len('{"k":1}'))
    small = Skill(name="s", system="ab", text="cd")
    large = Skill(name="l", text="xyz", examples=(turns,))
    assert shown_size(plain.model_copy(update={"skills": (small, large)})) == 10 + 3 + 15
    native = plain.middleware.model_copy(update={"protocol": WireFormat(format="native")})
    told = plain.model_copy(update={"tools": (tool,), "middleware": native})
    assert shown_size(told) > 10 + len("abcfour") + len('"type":"integer"')


def test_notes_count_as_far_as_they_are_recalled() -> None:
    notes = tuple(Note(name=n, text=n * size) for n, size in (("a", 9), ("b", 1), ("c", 4)))
    for policy, capacity, top_k, size in (
        ("none", 32, 3, 0),
        ("notes", 32, 3, 14),
        ("notes", 2, 3, 5),
        ("retrieval", 32, 1, 9),
        ("retrieval", 32, 2, 13),
    ):
        memory = Memory.model_validate(
            {"policy": policy, "entries": notes, "capacity": capacity, "top_k": top_k}
        )
        assert shown_size(Harness(name="h", memory=memory)) == size


def test_a_hook_shows_nothing_before_the_task() -> None:
    hooks = Hooks(before_tool=(Hook(name="loop_guard"),))
    harness = Harness(name="h")
    hooked = harness.model_copy(
        update={"middleware": harness.middleware.model_copy(update={"hooks": hooks})}
    )
    assert shown_size(hooked) == shown_size(harness)
