"""Patterns of tools that are not what the documentation uses (T): one that is missing, a mending
that makes another value of the right one, a composite whose steps do something else.
"""

import re
from collections.abc import Iterator

from evener.agents.pattern.background import (
    actions_of,
    calls_of,
    choices,
    procedure,
    properties,
)
from evener.agents.pattern.course import Departure, departed, steps_made
from evener.agents.pattern.finding import Case, Finding, pair, signature
from evener.agents.pattern.lexical import plurals
from evener.agents.pattern.teaching import departure
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.event import Acted, Coerced, Parsed
from evener.protocols.harness import Tool
from evener.protocols.patch import FieldEdit
from evener.protocols.path import ABSENT, read
from evener.protocols.port import WorkedExample

CAUSE = RootCause.TOOL_SCHEMA_ERROR
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def lacking(case: Case) -> Iterator[Finding]:
    """`no_tool:K:ACTION`: every documented solution of the kind uses an action that no tool of the
    harness stands for."""
    kind = case.background.kind(case.trajectory.task)
    documented = case.background.procedures(kind) if kind is not None else ()
    if kind is None or not any(documented):
        return
    there = {
        action for tool in case.harness.tools for action in actions_of(tool.name, case.harness)
    }
    first, *others = (frozenset(path) for path in documented)
    needed = first.intersection(*others)
    event, quote = departure(case, documented)
    for name in sorted(needed - there):
        tool = case.background.new_tool(name, case.harness)
        suggestion = case.edit(f"tools[{name}]", tool.document()) if tool is not None else None
        yield case.finding(
            signature("no_tool", kind, name),
            CAUSE,
            Severity.CRITICAL,
            event=event,
            quote=quote,
            suggestion=suggestion,
        )


def mending(case: Case) -> Iterator[Finding]:
    """`alias:TOOL.ARGUMENT`: an alias made a listed value of a word that spells another one."""
    for index, event in enumerate(case.events):
        if not isinstance(event, Coerced) or event.rule != "value_alias":
            continue
        tool = next((t for t in case.harness.tools if t.name == event.call.name), None)
        right = _spelled(case, tool, event) if tool is not None else None
        if tool is None or right is None or right == event.after:
            continue
        path = f"tools[{tool.name}].arguments.{event.argument}.aliases"
        old = read(case.harness.document(), path)
        yield case.finding(
            signature("alias", f"{tool.name}.{event.argument}"),
            CAUSE,
            Severity.CRITICAL,
            event=index,
            quote=pair("after", event.after),
            suggestion=FieldEdit(
                field_path=path,
                old_value=old,
                new_value={**old, event.before: right} if isinstance(old, dict) else ABSENT,
            ),
        )


def _spelled(case: Case, tool: Tool, event: Coerced) -> str | None:
    """The listed value that a word is the plural of, or that the documentation spells so."""
    spec = case.background.action(tool.action or "")
    listed = choices(properties(spec.parameters).get(event.argument, {})) if spec else ()
    word = event.before.casefold()
    known = case.background.spellings(tool.action or "", event.argument)
    asked = case.trajectory.task.prompt.casefold()
    if not listed:
        changed = word in asked and event.after.casefold() not in asked
        return event.before if changed else None
    same = next((value for value in listed if value.casefold() == word), None)
    return same or known.get(word) or next((v for v in listed if word in plurals(v)), None)


def composing(case: Case) -> Iterator[Finding]:
    """`steps:TOOL`: a composite made the documented actions and gave one of them something of
    another form than the documentation does."""
    kind = case.background.kind(case.trajectory.task)
    form = case.background.form
    documented = case.background.of(kind) if kind is not None else ()
    for tool in case.harness.tools:
        done = [
            (index, event)
            for index, event in enumerate(case.events)
            if isinstance(event, Acted) and event.tool == tool.name and event.error_kind is None
        ]
        steps = tool.steps or ()
        if not steps or len(done) < len(steps):
            continue
        made = [(event.call.name, event.call.arguments) for _, event in done[: len(steps)]]
        alike = [e for e in documented if procedure(e.turns)[: len(steps)] == _names(tool)]
        if not alike or form(made) in {form([*calls_of(e.turns)][: len(steps)]) for e in alike}:
            continue
        yield case.finding(
            signature("steps", tool.name),
            CAUSE,
            Severity.CRITICAL,
            event=done[len(steps) - 1][0],
            quote=pair("tool", tool.name),
            suggestion=_right_step(case, tool, alike[0]),
        )


def leaving_out(case: Case) -> Iterator[Finding]:
    """`steps:TOOL`: a step that left the documentation's course made no use of an argument that the
    student gave."""
    left = departed(case)
    event = case.events[left.step.event] if left.step is not None else None
    if not isinstance(event, Acted):
        return
    tool = next((t for t in case.harness.tools if t.name == event.tool and t.steps), None)
    if tool is None:
        return
    used = " ".join(text for step in tool.steps or () for text in step.arguments.values())
    unused = [n for n in properties(tool.parameters) if not re.search(rf"\b{re.escape(n)}\b", used)]
    if not unused and _altered(case, tool, event, left):
        yield case.finding(
            signature("steps", tool.name),
            CAUSE,
            Severity.CRITICAL,
            event=left.step.event if left.step is not None else 0,
            quote=pair("tool", tool.name),
        )
    if unused:
        at = next(i for i, s in enumerate(tool.steps or ()) if s.action == event.call.name)
        doubled = _doubled(tool, at)
        path = f"tools[{tool.name}].steps[{at}].arguments" + (f".{doubled}" if doubled else "")
        new = "{{ " + unused[0] + " }}"
        yield case.finding(
            signature("steps", tool.name),
            CAUSE,
            Severity.CRITICAL,
            event=left.step.event if left.step is not None else 0,
            quote=pair("tool", tool.name),
            suggestion=case.edit(path, new) if doubled else None,
        )


def _altered(case: Case, tool: Tool, event: Acted, left: Departure) -> bool:
    """Whether the student gave a number that belongs there, and the step made another of it."""
    roles = " ".join(role for _, role in left.wanted.filled) if left.wanted is not None else ""
    results = [step.result for step in steps_made(case)]
    asked = _NUMBER.findall(case.trajectory.task.prompt)
    right = [results[int(i)] for i in re.findall(r"r(\d+)", roles) if int(i) < len(results)]
    right += [asked[int(i)] for i in re.findall(r"q(\d+)", roles) if int(i) < len(asked)]
    given = [
        str(value)
        for parsed in case.events
        if isinstance(parsed, Parsed) and parsed.turn == event.turn
        for call in parsed.calls
        if call.name == tool.name
        for value in call.arguments.values()
    ]
    inner = {n for value in event.call.arguments.values() for n in _NUMBER.findall(str(value))}
    return any(number in given and number not in inner for number in right if number)


def _doubled(tool: Tool, at: int) -> str | None:
    """The argument of a step that is filled as one before it is."""
    seen: set[str] = set()
    for name, text in (tool.steps or ())[at].arguments.items():
        if text in seen:
            return name
        seen.add(text)
    return None


def _names(tool: Tool) -> tuple[str, ...]:
    return tuple(step.action for step in tool.steps or ())


def _right_step(case: Case, tool: Tool, example: WorkedExample) -> FieldEdit | None:
    """The last step as the documentation has it: the result before it is `result`, the numbers
    left are the tool's own, in their order."""
    at = len(tool.steps or ()) - 1
    calls = [turn.call for turn in example.turns if turn.call is not None]
    results = [turn.content for turn in example.turns if turn.role == "tool" and turn.content]
    own = iter([n for n, s in properties(tool.parameters).items() if s.get("type") == "number"])
    before = results[at - 1].strip() if 0 < at <= len(results) else None
    for name, value in calls[at].arguments.items():
        if not isinstance(value, str) or before is None:
            continue

        def filled(found: re.Match[str]) -> str:
            return "{{ result }}" if found[0] == before else f"{{{{ {next(own, 'result')} }}}}"

        path = f"tools[{tool.name}].steps[{at}].arguments.{name}"
        right = case.edit(path, _NUMBER.sub(filled, value))
        return None if right.new_value == right.old_value else right
    return None
