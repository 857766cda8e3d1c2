"""Patterns of replies from which no call could be read (Mid; P for a plain answer where the prompt
does not say and show that a call is wanted)."""

from collections.abc import Iterator

from evener.agents.pattern.finding import Case, Finding, pair, signature
from evener.agents.pattern.teaching import on_view
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.event import Acted, ParseFailed
from evener.protocols.harness import Hook


def misreading(case: Case) -> Iterator[Finding]:
    """`parse:FAULT` for a reply that meant a call and could not be read as one."""
    for index, event in enumerate(case.events):
        if isinstance(event, ParseFailed) and event.fault != "no_call":
            severity = _severity(case, index)
            if severity is Severity.CRITICAL and _called_before(case, index):
                severity = Severity.MAJOR
            yield case.finding(
                signature("parse", event.fault),
                RootCause.MIDDLEWARE_MISMATCH,
                severity,
                event=index,
                quote=pair("fault", event.fault),
            )


def _called_before(case: Case, index: int) -> bool:
    """Whether an earlier reply was read as a call: the student knows the form, and what else is
    missing explains more than that it then lost it."""
    return any(isinstance(event, Acted) for event in case.events[:index])


def answering(case: Case) -> Iterator[Finding]:
    """`plain_answer` for a reply that made no call at all."""
    for index, event in enumerate(case.events):
        if isinstance(event, ParseFailed) and event.fault == "no_call":
            yield case.finding(
                signature("plain_answer"),
                RootCause.MIDDLEWARE_MISMATCH if _told(case) else RootCause.PROMPT_AMBIGUITY,
                _severity(case, index),
                event=index,
                quote=pair("fault", event.fault),
            )


def _told(case: Case) -> bool:
    """Whether the prompt says how a call is written and calls were shown: what is left is that the
    loop ends at words, which a reminder would not."""
    said = '"arguments"' in case.harness.prompt.system
    reminded = any(hook.name == "require_action" for hook in _hooks(case))
    return said and bool(on_view(case)) and not reminded


def _hooks(case: Case) -> tuple[Hook, ...]:
    hooks = case.harness.middleware.hooks
    return (*hooks.after_model, *hooks.before_finish)


def _severity(case: Case, index: int) -> Severity:
    """Critical unless a call was executed later on."""
    recovered = any(isinstance(later, Acted) for later in case.events[index + 1 :])
    return Severity.MINOR if recovered else Severity.CRITICAL
