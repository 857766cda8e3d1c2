"""Which repairs answer which signature, by the signature's first part."""

import re
from collections.abc import Iterator, Sequence

from evener.agents.critics.catalogue import flow, remember, schema, teach, wake
from evener.agents.critics.catalogue.repair import Generator, Ground, Repair
from evener.agents.critics.catalogue.tidy import suggested
from evener.protocols.patch import FieldEdit

# What only an event knows: another name of a tool, or how one argument's texts are mended.
_DETAIL = re.compile(r"tools\[[^\]+]+\]\.(aliases|arguments\.)")

CATALOGUE: dict[str, tuple[Generator, ...]] = {
    "no_example": (teach.no_example, remember.note),
    "few_examples": (teach.few_examples,),
    "no_form": (teach.no_form,),
    "skill_not_active": (wake.skill_not_active,),
    "wrong_skill": (wake.wrong_skill,),
    "off_procedure": (wake.off_procedure,),
    "refused": (schema.refused,),
    "observed": (schema.observed,),
    "schema": (schema.schema,),
    "parse": (flow.parse,),
    "plain_answer": (flow.plain_answer,),
    "repeat": (flow.repeat,),
    "passing_error": (flow.passing_error,),
    "answer_differs": (flow.answer_differs,),
    "turns_out": (flow.turns_out,),
    "reply_cut": (flow.reply_cut,),
    "dropped": (flow.dropped,),
    "output_cut": (flow.output_cut,),
    "context_exceeded": (flow.context_exceeded,),
    "evicted": (remember.evicted,),
    "notes_crowd": (remember.notes_crowd,),
    "note_not_recalled": (remember.note_not_recalled, teach.no_example),
    "wrong_note": (remember.wrong_note, teach.no_example),
    "no_tool": (schema.no_tool, teach.no_example),
}


def repairs(signature: str, suggestions: Sequence[FieldEdit], ground: Ground) -> Iterator[Repair]:
    """What may mend one pattern, likeliest first within a group: what its attributions suggest,
    then what the catalogue knows. A pattern it does not know has its suggestions alone."""
    name, *parts = signature.split(":")
    known = CATALOGUE.get(name, ())
    made = [r for generate in known for r in generate(parts, ground) if r.edits]
    group = made[0].group if made else signature
    offered = {edit.field_path for repair in made for edit in repair.edits}
    fresh = [s for s in suggestions if s.field_path not in offered or _DETAIL.match(s.field_path)]
    yield from suggested(
        f"as suggested {signature}", fresh, ground, group=group, reason="what the events suggest"
    )
    yield from made
