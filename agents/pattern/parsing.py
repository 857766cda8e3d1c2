"""Patterns of replies from which no call could be read (Mid, and P for a plain answer)."""

from collections.abc import Iterator

from evener.agents.pattern.finding import Case, Finding, pair, signature
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.event import Acted, ParseFailed


def misreading(case: Case) -> Iterator[Finding]:
    """`parse:FAULT` for a reply that meant a call and could not be read as one."""
    for index, event in enumerate(case.events):
        if isinstance(event, ParseFailed) and event.fault != "no_call":
            yield case.finding(
                signature("parse", event.fault),
                RootCause.MIDDLEWARE_MISMATCH,
                _severity(case, index),
                event=index,
                quote=pair("fault", event.fault),
            )


def answering(case: Case) -> Iterator[Finding]:
    """`plain_answer` for a reply that made no call at all."""
    for index, event in enumerate(case.events):
        if isinstance(event, ParseFailed) and event.fault == "no_call":
            yield case.finding(
                signature("plain_answer"),
                RootCause.PROMPT_AMBIGUITY,
                _severity(case, index),
                event=index,
                quote=pair("fault", event.fault),
            )


def _severity(case: Case, index: int) -> Severity:
    """Critical unless a call was executed later on."""
    recovered = any(isinstance(later, Acted) for later in case.events[index + 1 :])
    return Severity.MINOR if recovered else Severity.CRITICAL
