"""One failure pattern found in one trajectory, with the event that shows it.

A signature is `head:part:…`, the same text for the same failure in any episode. The quote stands
in the event's canonical JSON word for word.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from evener.agents.pattern.background import Background
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.digest import Wire, canonical
from evener.protocols.event import Event
from evener.protocols.harness import ExampleTurn, Harness
from evener.protocols.patch import FieldEdit
from evener.protocols.path import read
from evener.protocols.trajectory import Trajectory

QUOTE = 200


class Finding(Wire):
    """A pattern: its signature, the cause it points to and its evidence. `suggestion` is a single
    edit where the event itself gives the cure; the catalogue of repairs knows the rest."""

    signature: str
    root_cause: RootCause
    severity: Severity
    event: int
    quote: str
    suggestion: FieldEdit | None = None


@dataclass(frozen=True)
class Case:
    """What a detector looks at: an episode, the harness it ran under, and what is published."""

    trajectory: Trajectory
    harness: Harness
    background: Background

    @property
    def events(self) -> tuple[Event, ...]:
        """The episode's events."""
        return self.trajectory.events

    def placed_examples(
        self, active: Collection[str]
    ) -> Iterator[tuple[str, RootCause, tuple[ExampleTurn, ...]]]:
        """The worked examples on view with their paths and the part that shows them: those of the
        `active` skills, or else the prompt's."""
        mounted = [skill for skill in self.harness.skills if skill.name in active]
        if any(skill.examples for skill in mounted):
            for skill in mounted:
                for at, example in enumerate(skill.examples):
                    path = f"skills[{skill.name}].examples[{at}]"
                    yield path, RootCause.SKILL_MISSING, example
            return
        for at, example in enumerate(self.harness.prompt.examples):
            yield f"prompt.examples[{at}]", RootCause.PROMPT_AMBIGUITY, example

    def edit(self, path: str, new: JsonValue) -> FieldEdit:
        """The harness's field changed to `new`, its old value as it stands."""
        old = read(self.harness.document(), path)
        return FieldEdit(field_path=path, old_value=old, new_value=new)

    def finding(
        self,
        signature: str,
        cause: RootCause,
        severity: Severity,
        *,
        event: int,
        quote: str = "",
        suggestion: FieldEdit | None = None,
    ) -> Finding:
        """A finding whose quote is checked against the event, or else names the event's kind."""
        return Finding(
            signature=signature,
            root_cause=cause,
            severity=severity,
            event=event,
            quote=checked(self.events[event], quote),
            suggestion=suggestion,
        )


def checked(event: Event, quote: str) -> str:
    """`quote`, cut to length, if the event's JSON holds it; else the event's kind as it stands."""
    text = quote[:QUOTE]
    if text and text in canonical(event.document()) and text in event.model_dump_json():
        return text
    return f'"kind":"{event.kind}"'


def pair(key: str, value: object) -> str:
    """`"key":value` as it stands in compact JSON."""
    return f"{json.dumps(key, ensure_ascii=False)}:" + json.dumps(
        value, ensure_ascii=False, separators=(",", ":")
    )


def signature(*parts: str) -> str:
    """The parts joined by colons; a colon or line break inside a part becomes a space, and a part
    is cut to 80 characters: a student may have written it."""
    return ":".join(" ".join(part.replace(":", " ").split())[:80] for part in parts)


def head(text: str) -> str:
    """The first part of a signature."""
    return text.partition(":")[0]
