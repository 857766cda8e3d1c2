"""All patterns of one failed episode, the best explanation first."""

from collections.abc import Callable, Iterator

from evener.agents.pattern.accounting import accounting
from evener.agents.pattern.background import Background
from evener.agents.pattern.binding import binding, withheld
from evener.agents.pattern.calling import calling
from evener.agents.pattern.counting import counting
from evener.agents.pattern.equipping import composing, lacking, leaving_out, mending
from evener.agents.pattern.finding import Case, Finding
from evener.agents.pattern.losing import losing
from evener.agents.pattern.naming import naming
from evener.agents.pattern.noting import noting
from evener.agents.pattern.parsing import answering, misreading
from evener.agents.pattern.running import (
    failing,
    looping,
    remembering,
    running_out,
    windowing,
)
from evener.agents.pattern.slipping import AGENT_ERROR, slipping
from evener.agents.pattern.teaching import answering_else, last_event, teaching
from evener.agents.pattern.telling import telling
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.harness import Harness
from evener.protocols.trajectory import Outcome, Trajectory

# Between equally severe findings the earlier detector explains more: a text that misleads has its
# trace in a call, a turned-away call has its cause in sight, notes that crowd the window explain
# what it drops, a plain answer may only mean that nothing was shown.
DETECTORS: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    telling,
    counting,
    naming,
    mending,
    calling,
    binding,
    withheld,
    composing,
    leaving_out,
    failing,
    losing,
    misreading,
    running_out,
    remembering,
    windowing,
    lacking,
    noting,
    accounting,
    slipping,
    teaching,
    answering,
    looping,
    answering_else,
)
_ORDER = list(Severity)


def signatures(
    trajectory: Trajectory, *, harness: Harness, background: Background
) -> tuple[Finding, ...]:
    """Every pattern of a failed episode once, best explanation first; `agent_error` alone where
    nothing in the harness explains it. A solved episode and one of infra show none."""
    if trajectory.outcome in (Outcome.SOLVED, Outcome.INFRA) or not trajectory.events:
        return ()
    case = Case(trajectory, harness, background)
    found: dict[str, Finding] = {}
    for detector in DETECTORS:
        for finding in detector(case):
            kept = found.get(finding.signature)
            if kept is None or _ORDER.index(finding.severity) < _ORDER.index(kept.severity):
                found[finding.signature] = finding
    if not found:
        event, quote = last_event(case)
        return (
            case.finding(
                AGENT_ERROR, RootCause.AGENT_ERROR, Severity.MAJOR, event=event, quote=quote
            ),
        )
    # sorting is stable: within a severity the detectors' order stands
    return tuple(sorted(found.values(), key=lambda f: _ORDER.index(f.severity)))


def shows(
    trajectory: Trajectory, signature: str, *, harness: Harness, background: Background
) -> bool:
    """Whether a failed episode shows one pattern."""
    found = signatures(trajectory, harness=harness, background=background)
    return any(finding.signature == signature for finding in found)
