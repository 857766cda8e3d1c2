"""Patterns of replies from which no call could be read (Mid; P where what is on view asks for
a form that no setting reads, and for a plain answer where nothing says that a call is wanted).

A reply is read once more, with all that the protocol could be set to. What no setting reads is not
the middleware's fault.
"""

import re
from collections.abc import Iterator

from evener.agents.harness.lenient import Near, near_calls
from evener.agents.harness.reasoning import set_apart
from evener.agents.pattern.course import steps_made, wanted_roles
from evener.agents.pattern.finding import Case, Finding, pair, signature
from evener.agents.pattern.lexical import words
from evener.agents.pattern.onview import active_skills, on_view
from evener.agents.pattern.role import Step, alike, roles
from evener.agents.pattern.saying import sentences, shown_texts, told
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.event import Acted, Ended, Parsed, ParseFailed, Replied
from evener.protocols.harness import Hook
from evener.protocols.model import StopReason

Unread = ParseFailed | Parsed
AROUND = frozenset(
    [
        "fence",
        "fences",
        "fenced",
        "markdown",
        "block",
        "sentence",
        "think",
        "thoughts",
        "reasoning",
        "say",
    ]
)


def misreading(case: Case) -> Iterator[Finding]:
    """`parse:FAULT` for a reply that meant a call and could not be read as one, or of whose calls
    only the first was taken; `unread_form` where it could not be read in any way."""
    for index, event in enumerate(case.events):
        fault = _fault(event) if isinstance(event, ParseFailed | Parsed) else ""
        if not fault or not isinstance(event, ParseFailed | Parsed):
            continue
        severity = _severity(case, index)
        if severity is Severity.CRITICAL and _called_before(case, index):
            severity = Severity.MAJOR
        if _cost_the_end(case):
            severity = Severity.CRITICAL
        readable = _readable(case, event)
        if not readable and not _form_told(case):
            readable = True  # nothing says how a call is written; the protocol alone decides
        cause = RootCause.MIDDLEWARE_MISMATCH if readable else _to_blame(case, event)
        if readable and _talked_around(case, event):
            readable, cause = False, RootCause.AGENT_ERROR
        name = signature("parse", fault) if readable else "unread_form"
        name = "agent_error" if cause is RootCause.AGENT_ERROR else name
        yield case.finding(name, cause, severity, event=index, quote=pair("kind", event.kind))


def _fault(event: Unread) -> str:
    if isinstance(event, Parsed):
        return "several_calls" if "first_of_several" in event.repairs else ""
    return "" if event.fault == "no_call" else event.fault


def _readable(case: Case, event: Unread) -> bool:
    """Whether another setting of the middleware would have read the reply, and rightly: the limit,
    the stop strings, leniency, several calls, calls in thoughts."""
    text = _reply(case, event)
    if text is None:
        return True
    near = _near(case, text)
    if near is None:
        return False
    if len(near.shapes) == 1:
        return True
    actions = {tool.name: tool.action or tool.name for tool in case.harness.tools}
    before = [step for step in steps_made(case) if case.events[step.event].turn < event.turn]
    made = [Step(actions.get(s.name, s.name), s.arguments) for s in near.shapes]
    planned = roles(case.trajectory.task.prompt, [*before, *made], case.background)
    return all(map(alike, planned, wanted_roles(case)))


def _reply(case: Case, event: Unread) -> str | None:
    """The text of a reply; None where it is not kept, or was cut by a limit or a stop string."""
    replied = next(
        (e for e in case.events if isinstance(e, Replied) and e.turn == event.turn), None
    )
    if replied is None or replied.message >= len(case.trajectory.messages):
        return None
    if replied.stop_reason in (StopReason.LENGTH, StopReason.STOP):
        return None
    return case.trajectory.messages[replied.message].content


def _near(case: Case, text: str) -> Near | None:
    visible, reasoning = set_apart(text)
    offered = [tool.name for tool in case.harness.tools]
    near = near_calls(visible, offered, several=True)
    return near or near_calls(reasoning, offered, several=True)


def _talked_around(case: Case, event: Unread) -> bool:
    """Whether a strict protocol turned away what stands around a call, which the words on view rule
    out: `nothing else`; and no text asks for anything to stand there."""
    text = _reply(case, event)
    near = _near(case, text) if text is not None else None
    if near is None or len(near.shapes) > 1 or not {"text", "fence"} & set(near.repairs):
        return False
    said = [set(words(one)) for t in shown_texts(case) for one in sentences(t.text)]
    alone = any({"nothing", "else"} <= one or {"only", "json"} <= one for one in said)
    return alone and not any(AROUND & one for one in said) and not on_view(case)


def _to_blame(case: Case, event: Unread) -> RootCause:
    """What no setting reads is the student's own, unless a text asks for it: for several calls, or
    for an object with just those keys."""
    text = _reply(case, event) or ""
    keys = set(re.findall(r'"(\w+)"\s*:', text))
    for shown in shown_texts(case):
        several = "calls" in shown.text.casefold() and _fault(event) == "several_calls"
        quoted = set(re.findall(r"\"(\w+)\"", shown.text))
        other = not {"name", "arguments"} <= keys and len(keys & quoted) > 1
        if several or other:
            return shown.cause
    return RootCause.AGENT_ERROR


def _form_told(case: Case) -> bool:
    """Whether what is on view says or shows how a call is written."""
    return any('{"' in text.text for text in shown_texts(case)) or bool(on_view(case))


def _called_before(case: Case, index: int) -> bool:
    """Whether an earlier reply was read as a call: the student knows the form, and what else is
    missing explains more than that it then lost it."""
    return any(isinstance(event, Acted) for event in case.events[:index])


def _cost_the_end(case: Case) -> bool:
    """Whether the turns ran out on the documented course: those that were lost were lacking."""
    over = any(isinstance(e, Ended) and e.reason == "max_turns" for e in case.events)
    made, wanted = steps_made(case), wanted_roles(case)
    done = roles(case.trajectory.task.prompt, made, case.background)
    return over and 0 < len(done) < len(wanted) and all(map(alike, done, wanted))


def answering(case: Case) -> Iterator[Finding]:
    """`plain_answer` for a reply that made no call at all."""
    kind = case.background.kind(case.trajectory.task)
    enough = kind is not None and told(case, kind) and _form_told(case)
    for index, event in enumerate(case.events):
        if isinstance(event, ParseFailed) and event.fault == "no_call":
            yield case.finding(
                signature("plain_answer"),
                RootCause.MIDDLEWARE_MISMATCH if _told(case) else _speaker(case),
                Severity.MINOR if enough else _severity(case, index),
                event=index,
                quote=pair("fault", event.fault),
            )


def _told(case: Case) -> bool:
    """Whether the prompt says how a call is written and calls were shown: what is left is that the
    loop ends at words, which a reminder would not."""
    said = any('"arguments"' in t.text for t in shown_texts(case) if t.path.endswith(".system"))
    reminded = any(hook.name == "require_action" for hook in _hooks(case))
    return said and bool(on_view(case)) and not reminded


def _speaker(case: Case) -> RootCause:
    """The part that should have asked for a call: a skill that took the prompt's place, or it."""
    active = active_skills(case)
    instead = any(s.system is not None for s in case.harness.skills if s.name in active)
    return RootCause.SKILL_MISSING if instead else RootCause.PROMPT_AMBIGUITY


def _hooks(case: Case) -> tuple[Hook, ...]:
    hooks = case.harness.middleware.hooks
    return (*hooks.after_model, *hooks.before_finish)


def _severity(case: Case, index: int) -> Severity:
    """Critical unless a call was executed later on."""
    recovered = any(isinstance(later, Acted) for later in case.events[index + 1 :])
    return Severity.MINOR if recovered else Severity.CRITICAL
