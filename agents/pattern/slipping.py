"""Errors of the model where the harness shows what is right: nothing in it is to blame.

A slip outranks the small things that could be added to a harness to guard against slips, and gives
way to anything in it that stood in the student's way. Who takes the documented actions in their
order can do such tasks, and slipped; who leaves them has to have been shown or told enough.
"""

from collections.abc import Iterator

from evener.agents.pattern.course import departed, same_shape, shown_roles, wanted_roles
from evener.agents.pattern.cure import cure
from evener.agents.pattern.finding import Case, Finding
from evener.agents.pattern.lexical import nearest
from evener.agents.pattern.onview import on_view
from evener.agents.pattern.role import alike
from evener.agents.pattern.saying import told
from evener.agents.pattern.teaching import (
    ENOUGH,
    answer_differs,
    executed,
    last_event,
    passes_on,
    shows_kind,
    unseen_form,
)
from evener.environments.check import refusal
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.digest import canonical
from evener.protocols.event import Acted, Adhered, CallRefused, ContextCut

AGENT_ERROR = "agent_error"
STUCK = 3  # equal calls in a row


def slipping(case: Case) -> Iterator[Finding]:
    """`agent_error` where a reminder was not heeded, where the right course was on view, in words
    or in examples, and a step of it was taken wrongly, where it was told or shown enough and left,
    where a known result was asked for again, and where nothing is shown and the documented course
    was taken all the same."""
    severity = _severity(case)
    if severity is not None:
        event, quote = last_event(case)
        yield case.finding(AGENT_ERROR, RootCause.AGENT_ERROR, severity, event=event, quote=quote)


def _severity(case: Case) -> Severity | None:
    if _unheeded(case):
        return Severity.CRITICAL
    slipped = _against_what_is_shown(case) or _stuck(case) or _invents(case)
    slipped = slipped or (_rightly_refused(case) and taught(case))
    return Severity.MAJOR if slipped else None


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
    if told(case, kind):
        return True
    followed = executed(case) in documented
    shown = [e for e in on_view(case) if shows_kind(case, e, kind)]
    if not shown:
        at_the_end = departed(case).aspect == "end" and not _examples(case)
        return followed and (at_the_end or (answer_differs(case) is None and not _examples(case)))
    if answer_differs(case) is not None and all(passes_on(example) for example in shown):
        return True
    left, unseen = departed(case), unseen_form(case, kind, shown)
    if followed and unseen is None and (shows_course(case) or same_shape(left.made, left.wanted)):
        return True
    # who began as shown, or did not try, can do it; another call first may come of too few examples
    if shows_course(case) and unseen is None and (left.at > 0 or left.aspect == "early"):
        return True
    if len(shown) < min(ENOUGH, len(case.background.of(kind))):
        return False
    return not followed and unseen is None


def shows_course(case: Case) -> bool:
    """Whether an example on view takes the very course that the task needs, role by role."""
    wanted = wanted_roles(case)
    shown = (shown_roles(case, example) for example in on_view(case))
    return bool(wanted) and any(
        len(roles) == len(wanted) and all(map(alike, roles, wanted)) for roles in shown
    )


def taught(case: Case) -> bool:
    """Whether the right course was on view, in words or in an example."""
    kind = case.background.kind(case.trajectory.task)
    return kind is not None and (shows_course(case) or told(case, kind))


def _examples(case: Case) -> bool:
    """Whether the harness has worked examples, on view or not: it teaches by them."""
    harness = case.harness
    return bool(harness.prompt.examples) or any(skill.examples for skill in harness.skills)


def _stuck(case: Case) -> bool:
    """The same call again whose result was on view all the time, with a guard against it or with
    the course on view that goes on from there."""
    guards = [hook.name for hook in case.harness.middleware.hooks.before_tool]
    if any(isinstance(e, ContextCut) for e in case.events):
        return False
    worked = [e.call for e in case.events if isinstance(e, Acted) and e.error_kind is None]
    made = [call.name + canonical(call.arguments) for call in worked]
    if len(set(made[-STUCK:])) == 1 and len(made) >= STUCK and _shown(case):
        return True
    return "loop_guard" in guards and len(made) > 1 and made[-1] == made[-2]


def _shown(case: Case) -> bool:
    """Whether the procedure is on view, in words or in an example of the kind."""
    kind = case.background.kind(case.trajectory.task)
    return kind is not None and (
        told(case, kind) or any(shows_kind(case, example, kind) for example in on_view(case))
    )


def _rightly_refused(case: Case) -> bool:
    """A call that the tool's schema turned away, as the action would have, and that no mend would
    have made right."""
    for event in case.events:
        if not isinstance(event, CallRefused) or event.reason not in ("wrong_type", "wrong_value"):
            continue
        if beyond_mending(case, event):
            return True
    return False


def beyond_mending(case: Case, event: CallRefused) -> bool:
    """Whether the action itself would refuse a refused call, and no spelling is what it lacks."""
    tool = next((t for t in case.harness.tools if t.name == event.call.name), None)
    if tool is None or tool.action is None:
        return False
    call = event.call.model_copy(update={"name": tool.action})
    value = event.call.arguments.get(event.argument)
    mend = isinstance(value, str) and cure(
        value,
        action=tool.action,
        argument=event.argument,
        background=case.background,
        error=event.detail,
    )
    return not mend and refusal(call, case.background.actions) is not None


def _invents(case: Case) -> bool:
    """A tool that there is none of and nothing on view speaks of, again behind the refusal."""
    names = [t.name for t in case.harness.tools]
    made_up = [
        e.call.name
        for e in case.events
        if isinstance(e, CallRefused) and e.reason == "unknown_tool"
        if nearest(e.call.name, names) is None and case.background.action(e.call.name) is None
    ]
    return len(made_up) > 1 and _shown(case)
