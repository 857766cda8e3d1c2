"""Patterns of a tool that does not do what it is named for (T), and of one that a skill withholds
where the documentation needs it (S): what was meant could not be done.
"""

from collections.abc import Iterator

from evener.agents.pattern.background import (
    actions_of,
)
from evener.agents.pattern.course import departed
from evener.agents.pattern.finding import Case, Finding, pair, signature
from evener.agents.pattern.onview import active_skills
from evener.agents.pattern.teaching import last_event
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.event import Acted

CAUSE = RootCause.TOOL_SCHEMA_ERROR


def binding(case: Case) -> Iterator[Finding]:
    """`bound:TOOL`: a tool stands for an action that another tool is named after, or whose name is
    another action's, and its call left the documentation's course: what was meant was not done."""
    left = departed(case)
    event = case.events[left.step.event] if left.step is not None else None
    if not isinstance(event, Acted) or left.aspect not in ("early", "other", "value"):
        return
    tool = next((t for t in case.harness.tools if t.name == event.tool), None)
    if tool is None or tool.action is None or tool.name == tool.action:
        return
    named = any(t.name == tool.action for t in case.harness.tools if t is not tool)
    other = case.background.action(tool.name) is not None
    if named or other:
        yield case.finding(
            signature("bound", tool.name),
            CAUSE,
            Severity.CRITICAL,
            event=left.step.event if left.step is not None else 0,
            quote=pair("tool", tool.name),
            suggestion=case.edit(f"tools[{tool.name}].action", tool.name) if other else None,
        )


def withheld(case: Case) -> Iterator[Finding]:
    """`refused:not_offered:TOOL`: the documentation's next step needs a tool that an active skill
    leaves out, and the student, who was not offered it, did something else."""
    left = departed(case)
    active = active_skills(case)
    skills = [s for s in case.harness.skills if s.name in active and s.tools is not None]
    if left.wanted is None or left.aspect not in ("early", "other") or not skills:
        return
    tools = [
        t for t in case.harness.tools if left.wanted.action in actions_of(t.name, case.harness)
    ]
    offered = {name for skill in skills for name in skill.tools or ()}
    if not tools or any(tool.name in offered for tool in tools):
        return
    event, quote = last_event(case)
    yield case.finding(
        signature("refused", "not_offered", tools[0].name),
        RootCause.SKILL_MISSING,
        Severity.CRITICAL,
        event=event,
        quote=quote,
        suggestion=case.edit(
            f"skills[{skills[0].name}].tools", [*(skills[0].tools or ()), tools[0].name]
        ),
    )
