"""Every repair in the catalogue applies, leaves a harness that runs, and does what it says."""

from typing import TYPE_CHECKING

import pytest

from evener.agents.critics.catalogue import Ground, Repair, repairs
from evener.agents.critics.catalogue.table import CATALOGUE
from evener.agents.harness.check import check
from evener.agents.pattern import head
from evener.protocols.harness import (
    ArgumentRule,
    Context,
    Harness,
    Loop,
    Memory,
    Note,
    Skill,
    When,
    WireFormat,
)
from evener.protocols.patch import FieldEdit, Patch
from evener.protocols.path import ABSENT

if TYPE_CHECKING:
    from tests.agents.critics.conftest import Lab

SIGNATURES = (
    "no_example:shelf",
    "few_examples:shelf",
    "no_form:shelf:a9",
    "skill_not_active:shelf:odd",
    "wrong_skill:shelf:odd",
    "off_procedure:freight",
    "refused:unknown_tool:unpack",
    "refused:wrong_type:stock.part",
    "observed:unit:stock.part",
    "schema:stock.part",
    "parse:invalid_json",
    "parse:call_like_text",
    "parse:cut_by_length",
    "plain_answer",
    "repeat:stock",
    "passing_error:busy:stock",
    "answer_differs:shelf",
    "turns_out",
    "reply_cut",
    "dropped:stock",
    "output_cut:stock",
    "context_exceeded",
    "evicted",
    "notes_crowd",
    "note_not_recalled:shelf:a",
    "wrong_note:shelf:b",
    "no_tool:freight:unpack",
)


def shabby(lab: "Lab", sound: Harness) -> Harness:
    """A harness with something to mend in every part."""
    examples = {e.kind: e.turns for e in lab.background.examples}
    stock, _, close = sound.tools
    stock = stock.model_copy(
        update={
            "description": "",
            "parameters": {"type": "object", "properties": {"code": {"type": "string"}}},
            "arguments": {"code": ArgumentRule(strip=True)},
        }
    )
    odd = Skill(
        name="odd", when=When(words=("odd", "shelf", "of")), examples=(examples["freight"],)
    )
    return sound.model_copy(
        update={
            "tools": (stock, close),
            "prompt": sound.prompt.model_copy(update={"examples": ()}),
            "skills": (odd.model_copy(update={"examples": ()}),),
            "middleware": sound.middleware.model_copy(
                update={
                    "protocol": WireFormat(strict=True),
                    "loop": Loop(max_turns=2, max_reply_tokens=16),
                    "context": Context(keep_tokens=300, tool_output_tokens=64),
                }
            ),
            "memory": Memory(
                policy="notes",
                entries=tuple(Note(name=n, text=n) for n in ("a", "b", "c")),
                capacity=1,
            ),
        }
    )


def made(signature: str, ground: Ground) -> dict[str, Repair]:
    return {repair.name: repair for repair in repairs(signature, (), ground)}


def after(repair: Repair, harness: Harness) -> Harness:
    return Patch(base=harness.digest(), edits=repair.edits).apply(harness)


def test_the_table_has_every_signature_that_is_tried_here() -> None:
    assert {head(signature) for signature in SIGNATURES} == set(CATALOGUE)


@pytest.mark.parametrize("signature", SIGNATURES)
def test_every_repair_applies_inverts_and_leaves_a_harness_that_runs(
    lab: "Lab", sound: Harness, signature: str
) -> None:
    harness = shabby(lab, sound)
    found = made(signature, Ground(harness, lab.background))
    assert found
    for repair in found.values():
        assert 0 < repair.prior <= 1
        patch = Patch(base=harness.digest(), edits=repair.edits)
        patched = patch.apply(harness)
        check(patched, lab.background.actions)
        assert patch.inverse(harness).apply(patched) == harness


@pytest.mark.parametrize("signature", SIGNATURES)
def test_a_repair_that_is_in_place_is_not_offered_again(
    lab: "Lab", sound: Harness, signature: str
) -> None:
    harness = shabby(lab, sound)
    for repair in made(signature, Ground(harness, lab.background)).values():
        patched = after(repair, harness)
        again = made(signature, Ground(patched, lab.background)).values()
        assert all(after(other, patched) != patched for other in again)


def test_a_missing_tool_is_offered_as_the_environment_describes_it(
    lab: "Lab", sound: Harness
) -> None:
    harness = shabby(lab, sound)
    repair = made("refused:unknown_tool:unpack", Ground(harness, lab.background))["tool-unpack"]
    tool = after(repair, harness).tools[-1]
    spec = lab.background.action("unpack")
    assert spec is not None
    assert (tool.name, tool.action) == ("unpack", "unpack")
    assert (tool.description, tool.parameters) == (spec.description, spec.parameters)


def test_a_wrong_schema_is_replaced_and_its_argument_stays_understood(
    lab: "Lab", sound: Harness
) -> None:
    harness = shabby(lab, sound)
    tool = after(
        made("schema:stock.part", Ground(harness, lab.background))["schema-stock"], harness
    ).tools[0]
    spec = lab.background.action("stock")
    assert spec is not None
    assert tool.parameters == spec.parameters
    assert tool.arguments == {"part": ArgumentRule(names=("code",))}


def test_a_skill_brings_tools_that_the_harness_lacks(lab: "Lab", sound: Harness) -> None:
    harness = shabby(lab, sound)
    found = made("no_example:freight", Ground(harness, lab.background))
    patched = after(found["skill-freight-3"], harness)
    assert [t.name for t in patched.tools] == ["stock", "close", "unpack"]
    assert patched.skills[-1].tools == ("unpack", "close")


def test_more_examples_go_where_the_kind_is_shown_already(lab: "Lab", sound: Harness) -> None:
    shelf = [e.turns for e in lab.background.of("shelf")]
    skill = Skill(name="shelves", when=When(words=("shelf",)), examples=(shelf[0],))
    harness = sound.model_copy(update={"skills": (skill,)})
    found = made("few_examples:shelf", Ground(harness, lab.background))
    patched = after(found["more-shelf-2"], harness)
    assert patched.skills[0].examples == tuple(shelf[:3])
    assert patched.prompt == harness.prompt


def test_narrowed_triggers_keep_no_word_of_another_kind(lab: "Lab", sound: Harness) -> None:
    freight = tuple(e.turns for e in lab.background.of("freight"))
    skill = Skill(name="freight", when=When(words=("truck", "of", "shelf")), examples=freight)
    harness = sound.model_copy(update={"skills": (skill,)})
    found = made("wrong_skill:shelf:freight", Ground(harness, lab.background))
    assert after(found["narrow-freight"], harness).skills[0].when.words == ("truck",)


def test_suggestions_of_many_attributions_become_one_repair(lab: "Lab", sound: Harness) -> None:
    path = "tools[stock].arguments.part.aliases"
    hints = [
        FieldEdit(field_path=path, old_value=ABSENT, new_value={"k1": "a1"}),
        FieldEdit(field_path=path, old_value=ABSENT, new_value={"k2": "a2"}),
        FieldEdit(field_path="tools[stock].arguments.part.strip", old_value=ABSENT, new_value=True),
    ]
    ground = Ground(sound, lab.background)
    first = next(repairs("observed:unit:stock.part", hints, ground))
    rule = after(first, sound).tools[0].arguments["part"]
    assert rule == ArgumentRule(aliases={"k1": "a1", "k2": "a2"}, strip=True)


def test_a_pattern_that_only_a_model_knows_has_its_own_suggestion_as_repair(
    lab: "Lab", sound: Harness
) -> None:
    hint = FieldEdit(
        field_path="middleware.loop.max_turns",
        old_value=sound.middleware.loop.max_turns,
        new_value=20,
    )
    (only,) = repairs("a model's own words", [hint], Ground(sound, lab.background))
    assert after(only, sound).middleware.loop.max_turns == 20
