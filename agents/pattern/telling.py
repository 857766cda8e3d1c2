"""Patterns of texts that mislead: what the harness says, against what the documentation does (P, T,
S, M).

A template that hides the question, tools that nothing lists, a worked example whose end is wrong,
and a number in a call that is neither the task's nor a result but stands in a text.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from evener.agents.harness.render import task_text
from evener.agents.harness.template import variables_of
from evener.agents.pattern.background import question
from evener.agents.pattern.finding import Case, Finding, pair, signature
from evener.agents.pattern.teaching import (
    active_skills,
    answer_differs,
    last_event,
    on_view,
    passes_on,
    shows_kind,
)
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.event import Acted, CallRefused, Remembered
from evener.protocols.path import Value, read

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_WORDS = {
    "half": 0.5, "two": 2.0, "twice": 2.0, "double": 2.0, "three": 3.0, "four": 4.0, "five": 5.0,
    "six": 6.0, "seven": 7.0, "eight": 8.0, "nine": 9.0, "ten": 10.0, "twelve": 12.0,
    "dozen": 12.0, "hundred": 100.0,
}  # fmt: skip
PLAIN = (0.0, 1.0)  # numbers that mean nothing by themselves


class Text(NamedTuple):
    """A text of the harness that the student was shown, where it stands, and what may be put in
    its place (None where nothing is known to be right)."""

    path: str
    text: str
    cause: RootCause
    instead: str | None = None


def telling(case: Case) -> Iterator[Finding]:
    """`task_hidden`, `tools_unlisted`, `wrong_example:PATH` and `told_number:PATH`."""
    yield from _hidden(case)
    yield from _unlisted(case)
    yield from _misled_by_example(case)
    yield from _told_numbers(case)


def _hidden(case: Case) -> Iterator[Finding]:
    asked = case.trajectory.task.prompt
    stated = task_text(case.harness, asked, notes="")
    if _folded(asked) in _folded(stated):
        return
    event, quote = last_event(case)
    yield case.finding(
        signature("task_hidden"),
        RootCause.PROMPT_AMBIGUITY,
        Severity.CRITICAL,
        event=event,
        quote=quote,
        suggestion=case.edit("prompt.task", "{{ question }}"),
    )


def _unlisted(case: Case) -> Iterator[Finding]:
    """A tool that there is none of, where nothing says which there are."""
    if case.harness.middleware.protocol.format == "native" or on_view(case):
        return
    names = active_skills(case)
    skills = [s for s in case.harness.skills if s.name in names]
    system = next((s.system for s in skills if s.system is not None), case.harness.prompt.system)
    said = " ".join([system, *(s.text for s in skills)])
    listed = {*re.findall(r"\w+", said)} >= {tool.name for tool in case.harness.tools}
    if "tools" in variables_of(system) or listed:
        return
    for index, event in enumerate(case.events):
        if isinstance(event, CallRefused) and event.reason == "unknown_tool":
            old = case.harness.prompt.system
            yield case.finding(
                signature("tools_unlisted"),
                RootCause.PROMPT_AMBIGUITY,
                Severity.CRITICAL,
                event=index,
                quote=pair("name", event.call.name),
                suggestion=case.edit("prompt.system", f"{old}\nTools:\n{{{{ tools }}}}".strip()),
            )
            return


def _misled_by_example(case: Case) -> Iterator[Finding]:
    """The answer is not the last result, and in an example on view it is not either."""
    kind, index = case.background.kind(case.trajectory.task), answer_differs(case)
    if kind is None or index is None:
        return
    last = case.events[index]
    assert isinstance(last, Acted)
    for path, cause, example in case.placed_examples(active_skills(case)):
        if not shows_kind(case, example, kind) or passes_on(example):
            continue
        at = max(i for i, turn in enumerate(example) if turn.call is not None)
        call = example[at].call
        results = [turn.content for turn in example if turn.role == "tool" and turn.content]
        name = next(iter(call.arguments), "") if call is not None else ""
        where = f"{path}[{at}].call.arguments.{name}"
        yield case.finding(
            signature("wrong_example", path),
            cause,
            Severity.CRITICAL,
            event=index,
            quote=pair("name", last.call.name),
            suggestion=case.edit(where, _like(results[-1], read(case.harness.document(), where)))
            if name and results
            else None,
        )
        return


def _told_numbers(case: Case) -> Iterator[Finding]:
    known = {*_numbers(case.trajectory.task.prompt), *PLAIN, *_constants(case)}
    texts = tuple(_shown_texts(case))
    for index, event in enumerate(case.events):
        if not isinstance(event, Acted):
            continue
        made = " ".join(v for v in event.call.arguments.values() if isinstance(v, str))
        foreign = [number for number in _numbers(made) if number not in known]
        known |= _numbers(event.observation)
        for text in texts:
            if not any(_says(text.text, number) for number in foreign):
                continue
            yield case.finding(
                signature("told_number", text.path),
                text.cause,
                Severity.CRITICAL,
                event=index,
                quote=pair("name", event.call.name),
                suggestion=None if text.instead is None else case.edit(text.path, text.instead),
            )
            return


def _shown_texts(case: Case) -> Iterator[Text]:
    """What was there to be read, the most particular text first."""
    recalled = {
        e.entry for e in case.events if isinstance(e, Remembered) and e.action == "recalled"
    }
    names = active_skills(case)
    for note in case.harness.memory.entries:
        if note.name in recalled:
            path = f"memory.entries[{note.name}].text"
            yield Text(path, note.text, RootCause.MEMORY_OVERFLOW, "")
    for skill in case.harness.skills:
        if skill.name in names:
            yield Text(f"skills[{skill.name}].text", skill.text, RootCause.SKILL_MISSING, "")
            if skill.system is not None:
                yield Text(f"skills[{skill.name}].system", skill.system, RootCause.SKILL_MISSING)
    for tool in case.harness.tools:
        spec = case.background.action(tool.action or "")
        if spec is None or spec.description != tool.description:
            path, instead = f"tools[{tool.name}].description", spec.description if spec else None
            yield Text(path, tool.description, RootCause.TOOL_SCHEMA_ERROR, instead)
    yield Text("prompt.system", case.harness.prompt.system, RootCause.PROMPT_AMBIGUITY)
    yield Text("prompt.task", case.harness.prompt.task, RootCause.PROMPT_AMBIGUITY)


def _constants(case: Case) -> set[float]:
    """Numbers in documented calls that are neither asked for nor results: those that all know."""
    found: set[float] = set()
    for example in case.background.examples:
        told = {*_numbers(question(example.turns))}
        for turn in example.turns:
            told |= _numbers(turn.content or "") if turn.role == "tool" else set()
            values = turn.call.arguments.values() if turn.call is not None else ()
            found |= {*_numbers(" ".join(v for v in values if isinstance(v, str)))} - told
    return found


def _says(text: str, number: float) -> bool:
    """Whether the text has the number, in digits or as a word, or as a share: 10 % for 0.9."""
    found = _numbers(text) | {_WORDS[w] for w in re.findall(r"[a-z]+", text.lower()) if w in _WORDS}
    shares = {n / 100 for n in found} if "%" in text or "percent" in text.lower() else set[float]()
    wanted = found | shares | {1 - share for share in shares} | {1 + share for share in shares}
    return any(abs(number - one) < 1e-9 for one in wanted)


def _numbers(text: str) -> set[float]:
    return {float(found) for found in _NUMBER.findall(text)}


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _like(text: str, old: Value) -> str | float | int:
    """The result as the value it replaces was written."""
    if isinstance(old, str) or not _NUMBER.fullmatch(text.strip()):
        return text.strip()
    return int(text) if text.strip().isdigit() else float(text)
