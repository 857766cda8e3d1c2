"""Every pattern that the catalogue could be asked to mend, without an episode that shows it."""

from collections.abc import Callable, Iterator, Mapping
from typing import get_args

from evener.agents.critics.catalogue.repair import Ground
from evener.agents.pattern.background import calls_of, properties
from evener.agents.pattern.finding import signature
from evener.agents.pattern.running import PASSING
from evener.protocols.event import ParseFault, RefusalReason

Parts = Iterator[tuple[str, ...]]


def _kinds(ground: Ground) -> Parts:
    for kind in ground.background.kinds():
        yield (kind,)


def _forms(ground: Ground) -> Parts:
    for example in ground.background.examples:
        yield example.kind, ground.background.form(calls_of(example.turns))


def _skills(ground: Ground) -> Parts:
    for (kind,) in _kinds(ground):
        for skill in ground.harness.skills:
            yield kind, skill.name


def _tools(ground: Ground) -> Parts:
    for tool in ground.harness.tools:
        yield (tool.name,)


def _arguments(ground: Ground) -> Parts:
    for tool in ground.harness.tools:
        for name in ("", *properties(tool.parameters)):
            yield (f"{tool.name}.{name}",)


def _refused(ground: Ground) -> Parts:
    for reason in get_args(RefusalReason):
        match reason:
            case "unknown_tool":
                for action in ground.background.actions:
                    yield reason, action.name
            case "not_offered":
                for (tool,) in _tools(ground):
                    yield reason, tool
            case _:
                for (what,) in _arguments(ground):
                    yield reason, what


def _observed(ground: Ground) -> Parts:
    for (what,) in _arguments(ground):
        yield "error", what


def _faults(ground: Ground) -> Parts:
    del ground
    for fault in get_args(ParseFault):
        if fault != "no_call":
            yield (fault,)


def _passing(ground: Ground) -> Parts:
    for kind in PASSING:
        for (tool,) in _tools(ground):
            yield kind, tool


def _notes(ground: Ground) -> Parts:
    for (kind,) in _kinds(ground):
        for note in ground.harness.memory.entries:
            yield kind, note.name


def _actions(ground: Ground) -> Parts:
    for (kind,) in _kinds(ground):
        for action in ground.background.actions:
            yield kind, action.name


def _once(ground: Ground) -> Parts:
    del ground
    yield ()


SPACE: Mapping[str, Callable[[Ground], Parts]] = {
    "no_example": _kinds,
    "few_examples": _kinds,
    "no_form": _forms,
    "skill_not_active": _skills,
    "wrong_skill": _skills,
    "off_procedure": _kinds,
    "refused": _refused,
    "observed": _observed,
    "schema": _arguments,
    "parse": _faults,
    "plain_answer": _once,
    "repeat": _tools,
    "passing_error": _passing,
    "answer_differs": _kinds,
    "turns_out": _once,
    "reply_cut": _once,
    "dropped": _tools,
    "output_cut": _tools,
    "context_exceeded": _once,
    "evicted": _once,
    "notes_crowd": _once,
    "note_not_recalled": _notes,
    "wrong_note": _notes,
    "no_tool": _actions,
}


def every(ground: Ground) -> Iterator[str]:
    """Every signature, once: each pattern with every kind, form, skill, tool, argument and word
    that the harness and the documentation have."""
    for head, parts in SPACE.items():
        yield from dict.fromkeys(signature(head, *found) for found in parts(ground))
