"""Patterns of what the harness shows and hides (P, T, S): a template that hides or spoils the
question, tools that nothing lists, worked examples that show another course than the documentation.
"""

import re
from collections.abc import Iterator

from evener.agents.harness.render import task_text
from evener.agents.harness.template import variables_of
from evener.agents.pattern.course import departed
from evener.agents.pattern.finding import Case, Finding, pair, signature
from evener.agents.pattern.onview import active_skills, on_view
from evener.agents.pattern.showing import misled_by_example
from evener.agents.pattern.teaching import last_event
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.event import Acted, CallRefused
from evener.protocols.path import read

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_CALLED = re.compile(r"\{.*\}|<tool_call>", re.DOTALL)


def telling(case: Case) -> Iterator[Finding]:
    """`task_hidden`, `task_spoilt`, `tools_unlisted` and `wrong_example:PATH`."""
    yield from _hidden(case)
    yield from _spoilt(case)
    yield from _unlisted(case)
    yield from _unread_list(case)
    yield from misled_by_example(case)


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


def _spoilt(case: Case) -> Iterator[Finding]:
    """A name as the task's template writes it, and not as it was asked, which an action refused; or
    letters that the template changed, and nothing was done rightly."""
    asked = case.trajectory.task.prompt
    stated = task_text(case.harness, asked, notes="")
    if _folded(asked) in _folded(stated) and asked not in stated and departed(case).at == 0:
        at, quote = last_event(case)
        yield case.finding(
            signature("task_spoilt"),
            RootCause.PROMPT_AMBIGUITY,
            Severity.CRITICAL,
            event=at,
            quote=quote,
            suggestion=case.edit("prompt.task", "{{ question }}"),
        )
        return
    for index, event in enumerate(case.events):
        if not isinstance(event, Acted) or event.error_kind is None:
            continue
        texts = [v for v in event.call.arguments.values() if isinstance(v, str) and v.strip()]
        if any(text in stated and text not in asked for text in texts):
            yield case.finding(
                signature("task_spoilt"),
                RootCause.PROMPT_AMBIGUITY,
                Severity.CRITICAL,
                event=index,
                quote=pair("name", event.call.name),
                suggestion=case.edit("prompt.task", "{{ question }}"),
            )
            return


def _unread_list(case: Case) -> Iterator[Finding]:
    """The documented next step needs a tool of the harness that nothing on view names."""
    left = departed(case)
    shown = [m.content for m in case.trajectory.messages if m.role == "system"]
    if case.harness.middleware.protocol.format == "native" or not shown or left.wanted is None:
        return
    if left.aspect not in ("early", "other") or on_view(case):
        return
    names = {t.name for t in case.harness.tools if t.action == left.wanted.action}
    seen = set(re.findall(r"\w+", " ".join(shown)))
    listed = {tool.name for tool in case.harness.tools} & seen
    if not names or names & seen or not listed:
        return
    skill = next(
        (s for s in case.harness.skills if s.name in active_skills(case) and s.system), None
    )
    path = f"skills[{skill.name}].system" if skill else "prompt.system"
    old = read(case.harness.document(), path)
    event, quote = last_event(case)
    yield case.finding(
        signature("tools_unlisted"),
        RootCause.SKILL_MISSING if skill else RootCause.PROMPT_AMBIGUITY,
        Severity.CRITICAL,
        event=event,
        quote=quote,
        suggestion=case.edit(path, f"{old}\nTools:\n{{{{ tools }}}}".strip()),
    )


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
