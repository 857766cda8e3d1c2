"""Errors of the model where the harness shows what is right: nothing in it is to blame.

A slip outranks the small things that could be added to a harness to guard against slips, and gives
way to anything in it that stood in the student's way.
"""

from collections.abc import Iterator

from evener.agents.pattern.finding import Case, Finding
from evener.agents.pattern.teaching import (
    ENOUGH,
    answer_differs,
    executed,
    last_event,
    on_view,
    passes_on,
    shows_kind,
    unseen_form,
)
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.digest import canonical
from evener.protocols.event import Acted, Adhered, ContextCut

AGENT_ERROR = "agent_error"


def slipping(case: Case) -> Iterator[Finding]:
    """`agent_error` where a reminder was not heeded, where enough examples were on view and not
    followed or their way to end was not, where a known result was asked for again against a guard,
    and where nothing is shown and the documented course was taken all the same."""
    severity = _severity(case)
    if severity is not None:
        event, quote = last_event(case)
        yield case.finding(AGENT_ERROR, RootCause.AGENT_ERROR, severity, event=event, quote=quote)


def _severity(case: Case) -> Severity | None:
    if _unheeded(case):
        return Severity.CRITICAL
    return Severity.MAJOR if _against_what_is_shown(case) or _stuck(case) else None


def _unheeded(case: Case) -> bool:
    """A reminder to call, after which no call was made until the end."""
    heeded = [e.followed for e in case.events if isinstance(e, Adhered) and _reminder(e.part)]
    acted = any(isinstance(e, Acted) for e in case.events)
    return bool(heeded) and not any(heeded) and not acted


def _reminder(part: str) -> bool:
    return "[require_action]" in part


def _against_what_is_shown(case: Case) -> bool:
    kind = case.background.kind(case.trajectory.task)
    documented = case.background.procedures(kind) if kind is not None else ()
    if kind is None or not any(documented):
        return False
    followed = executed(case) in documented
    shown = [e for e in on_view(case) if shows_kind(case, e, kind)]
    if not shown:
        return followed and answer_differs(case) is None and not _examples(case)
    if answer_differs(case) is not None and all(passes_on(example) for example in shown):
        return True
    if len(shown) < min(ENOUGH, len(case.background.of(kind))):
        return False
    return not followed and unseen_form(case, kind, shown) is None


def _examples(case: Case) -> bool:
    """Whether the harness has worked examples, on view or not: it teaches by them."""
    harness = case.harness
    return bool(harness.prompt.examples) or any(skill.examples for skill in harness.skills)


def _stuck(case: Case) -> bool:
    """The same call again whose result was on view all the time, with a guard against it."""
    guards = [hook.name for hook in case.harness.middleware.hooks.before_tool]
    if "loop_guard" not in guards or any(isinstance(e, ContextCut) for e in case.events):
        return False
    worked = [e.call for e in case.events if isinstance(e, Acted) and e.error_kind is None]
    made = [call.name + canonical(call.arguments) for call in worked]
    return len(made) > 1 and made[-1] == made[-2]
