"""Calls of tools that are not there or not on offer (T, S), and how much a refused call weighs."""

from evener.agents.pattern.finding import Case, Finding, pair, signature
from evener.agents.pattern.lexical import nearest
from evener.agents.pattern.onview import active_skills
from evener.agents.pattern.slipping import beyond_mending, taught
from evener.environments.check import refusal
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.event import Acted, CallRefused
from evener.protocols.harness import Tool
from evener.protocols.patch import FieldEdit

LONGEST = 60  # of a name or value, written by a student, that a harness may take up


def unknown_tool(case: Case, index: int, event: CallRefused) -> Finding:
    """`refused:unknown_tool:NAME`, with the alias that would have made it known."""
    name = event.call.name
    near = next((t for t in case.harness.tools if t.action == name), None)
    if near is None and case.background.action(name) is None:
        names = {t.name: t for t in case.harness.tools}
        near = names.get(event.nearest) or names.get(nearest(name, tuple(names)) or "")
    suggestion = None
    if near is not None and len(name) <= LONGEST:
        suggestion = FieldEdit(
            field_path=f"tools[{near.name}].aliases",
            old_value=list(near.aliases),
            new_value=[*near.aliases, name],
        )
    severity = severity_of(case, index, near.name if near else name)
    if suggestion is None and case.background.action(name) is None and taught(case):
        severity = Severity.MINOR  # made up, against what was on view
    return case.finding(
        signature("refused", "unknown_tool", name),
        RootCause.TOOL_SCHEMA_ERROR,
        severity,
        event=index,
        quote=pair("name", name),
        suggestion=suggestion,
    )


def not_offered(case: Case, index: int, event: CallRefused) -> Finding:
    """A tool the harness has and an active skill left out."""
    names = active_skills(case)
    tool = tool_of(case, event.call.name)
    skill = next((s for s in case.harness.skills if s.name in names and s.tools is not None), None)
    suggestion = None
    if skill is not None and skill.tools is not None and tool is not None:
        suggestion = FieldEdit(
            field_path=f"skills[{skill.name}].tools",
            old_value=list(skill.tools),
            new_value=[*skill.tools, tool.name],
        )
    kind = case.background.kind(case.trajectory.task)
    courses = case.background.procedures(kind) if kind is not None else ()
    wanted = tool is None or not courses or any((tool.action or "") in path for path in courses)
    return case.finding(
        signature("refused", "not_offered", event.call.name),
        RootCause.SKILL_MISSING,
        severity_of(case, index, event.call.name) if wanted else Severity.MINOR,
        event=index,
        quote=pair("name", event.call.name),
        suggestion=suggestion,
    )


def tool_of(case: Case, name: str) -> Tool | None:
    """The harness's tool of that name or alias."""
    return next((t for t in case.harness.tools if t.name == name or name in t.aliases), None)


def turned_away(case: Case, index: int, event: CallRefused, tool: Tool | None) -> Severity:
    """Critical where the action itself would have taken the call, and the same call was not made
    later on: what the student did instead was for want of it."""
    action = tool.action if tool is not None and tool.action else ""
    wrong = event.reason in ("wrong_type", "wrong_value")
    if action and wrong and beyond_mending(case, event) and taught(case):
        return Severity.MINOR
    call = event.call.model_copy(update={"name": action})
    made = [e.call for e in case.events[index + 1 :] if isinstance(e, Acted)]
    again = any(c.name == action and c.arguments == call.arguments for c in made)
    if action and not again and refusal(call, case.background.actions) is None:
        return Severity.CRITICAL
    return severity_of(case, index, tool.name if tool is not None else event.call.name)


def severity_of(case: Case, index: int, tool: str) -> Severity:
    """Critical unless the same tool worked later on."""
    later = case.events[index + 1 :]
    worked = any(isinstance(e, Acted) and e.tool == tool and e.error_kind is None for e in later)
    return Severity.MINOR if worked else Severity.CRITICAL
