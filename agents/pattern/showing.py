"""Worked examples on view that show another course than the documentation, and were followed."""

import re
from collections.abc import Iterator

from evener.agents.pattern.background import question
from evener.agents.pattern.course import (
    Departure,
    departed,
    made_roles,
    moved,
    pattern,
    shown_roles,
    wanted_roles,
)
from evener.agents.pattern.finding import Case, Finding, pair, signature
from evener.agents.pattern.onview import active_skills
from evener.agents.pattern.role import Role, alike, roles, steps_of
from evener.protocols.attribution import Severity
from evener.protocols.event import Acted, ParseFailed
from evener.protocols.harness import ExampleTurn
from evener.protocols.path import Value, read

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_CALLED = re.compile(r"\{.*\}|<tool_call>", re.DOTALL)


def misled_by_example(case: Case) -> Iterator[Finding]:
    """The student left the documentation's course as an example on view does: in the step that
    differs, in roles, or with words where a call goes."""
    kind, left = case.background.kind(case.trajectory.task), departed(case)
    wanted, made = wanted_roles(case), made_roles(case)
    if kind is None or not wanted:
        return
    spoken = _spoke(case)
    for path, cause, example in case.placed_examples(active_skills(case)):
        if case.background.kind_of(question(example)) != kind:
            continue
        shown = shown_roles(case, example)
        at = left.at
        if left.made is None:
            place = spoken is not None and _speech(example)
            if not place:
                continue
            index, name = spoken if spoken is not None else 0, "parse_failed"
            where, right = f"{path}[{place}]", None
        else:
            if len(shown) <= at or _documented(case, example, shown):
                continue
            copied = shown[at] == left.made and _same(shown, made, at)
            if not copied and not _turned_alike(case, example, shown[at], left):
                continue
            index, name = left.step.event if left.step else 0, left.made.action
            where, right = _wrong_value(case, path, example, shown, wanted, at)
        yield case.finding(
            signature("wrong_example", path),
            cause,
            Severity.CRITICAL,
            event=index,
            quote=pair("name" if right is not None or name != "parse_failed" else "kind", name),
            suggestion=None if right is None else case.edit(where, right),
        )
        return


def _turned_alike(
    case: Case, example: tuple[ExampleTurn, ...], shown: Role, left: Departure
) -> bool:
    """Whether the example has the places of a step exchanged just as the student has, each against
    the documentation for a question put like its own."""
    like = pattern(case, question(example))
    if left.made is None or left.wanted is None or like is None:
        return False
    known = roles(question(like.turns), steps_of(like.turns), case.background)
    if len(known) <= left.at or known[left.at].action != shown.action:
        return False
    return bool(moved(left.made, left.wanted)) and moved(left.made, left.wanted) == moved(
        shown, known[left.at]
    )


def _same(shown: tuple[Role, ...], made: tuple[Role, ...], at: int) -> bool:
    return all(alike(a, b) for a, b in zip(shown[:at], made[:at], strict=False))


def _documented(case: Case, example: tuple[ExampleTurn, ...], shown: tuple[Role, ...]) -> bool:
    """Whether the documentation takes the course that is shown for such a question."""
    like = pattern(case, question(example))
    if like is None:
        return False
    known = roles(question(like.turns), steps_of(like.turns), case.background)
    return len(known) == len(shown) and all(map(alike, shown, known))


def _spoke(case: Case) -> int | None:
    """The event of a last reply without a call."""
    found = [
        i for i, e in enumerate(case.events) if isinstance(e, ParseFailed) and e.fault == "no_call"
    ]
    acted = [i for i, e in enumerate(case.events) if isinstance(e, Acted)]
    return found[-1] if found and (not acted or found[-1] > acted[-1]) else None


def _speech(example: tuple[ExampleTurn, ...]) -> int | None:
    """The turn of an example in which the assistant speaks in the place of a call."""
    return next(
        (
            i
            for i, turn in enumerate(example)
            if turn.role == "assistant" and turn.content and not _CALLED.search(turn.content)
        ),
        None,
    )


def _wrong_value(
    case: Case,
    path: str,
    example: tuple[ExampleTurn, ...],
    shown: tuple[Role, ...],
    wanted: tuple[Role, ...],
    at: int,
) -> tuple[str, str | float | int | None]:
    """The place in the example that differs, and what stands there by the documentation where that
    is the last result handed in."""
    calls = [i for i, turn in enumerate(example) if turn.call is not None]
    call = example[calls[at]].call if at < len(calls) else None
    name = next(iter(call.arguments), "") if call is not None else ""
    where = f"{path}[{calls[at]}].call.arguments.{name}" if at < len(calls) else path
    results = [turn.content for turn in example if turn.role == "tool" and turn.content]
    ends = at == len(wanted) - 1 == len(shown) - 1
    if not (name and results and ends and wanted[at].action == shown[at].action):
        return where, None
    return where, _like(results[-1], read(case.harness.document(), where))


def _like(text: str, old: Value) -> str | float | int:
    """The result as the value it replaces was written."""
    if isinstance(old, str) or not _NUMBER.fullmatch(text.strip()):
        return text.strip()
    return int(text) if text.strip().isdigit() else float(text)
