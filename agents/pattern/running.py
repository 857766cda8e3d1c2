"""Patterns of the main loop and of what the model was shown (Mid), and of memory (M)."""

import re
from collections import Counter
from collections.abc import Iterator

from evener.agents.pattern.course import departed
from evener.agents.pattern.finding import Case, Finding, pair, signature
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.digest import canonical
from evener.protocols.event import (
    Acted,
    CallRefused,
    ContextCut,
    Ended,
    OutputCut,
    Parsed,
    Remembered,
    Replied,
)
from evener.protocols.model import StopReason

REPEATS = 3
PASSING = ("timeout", "transient", "unavailable", "exception")
CAUSE = RootCause.MIDDLEWARE_MISMATCH


def looping(case: Case) -> Iterator[Finding]:
    """`repeat:TOOL` for a call made three times, `turns_out` where there was progress till the
    last turn."""
    seen: Counter[str] = Counter()
    for index, event in enumerate(case.events):
        if not isinstance(event, Parsed):
            continue
        for call in event.calls:
            key = call.name + canonical(call.arguments)
            seen[key] += 1
            if seen[key] == REPEATS:
                yield case.finding(
                    signature("repeat", call.name),
                    CAUSE,
                    Severity.MAJOR,
                    event=index,
                    quote=pair("name", call.name),
                )
    for index, event in enumerate(case.events):
        if isinstance(event, Ended) and event.reason == "max_turns" and _progress(case):
            yield case.finding(
                signature("turns_out"),
                CAUSE,
                Severity.CRITICAL,
                event=index,
                quote=pair("reason", event.reason),
            )


def running_out(case: Case) -> Iterator[Finding]:
    """`turns_out` where all that was done is what the documentation does, as far as it came."""
    left = departed(case)
    for index, event in enumerate(case.events):
        over = isinstance(event, Ended) and event.reason == "max_turns"
        if over and left.aspect == "open" and left.at > 0 and _progress(case):
            yield case.finding(
                signature("turns_out"),
                CAUSE,
                Severity.CRITICAL,
                event=index,
                quote=pair("reason", "max_turns"),
            )


def failing(case: Case) -> Iterator[Finding]:
    """`passing_error:KIND:TOOL` for an error that says it will pass, or that did: the same call
    worked later."""
    acted = [(i, e) for i, e in enumerate(case.events) if isinstance(e, Acted)]
    for at, (index, event) in enumerate(acted):
        if event.error_kind is None:
            continue
        made = (event.call.name, event.call.arguments)
        passed = any(
            later.error_kind is None and (later.call.name, later.call.arguments) == made
            for _, later in acted[at + 1 :]
        )
        if passed or event.error_kind in PASSING:
            yield case.finding(
                signature("passing_error", event.error_kind, event.tool),
                CAUSE,
                Severity.MINOR if passed else Severity.CRITICAL,
                event=index,
                quote=pair("error_kind", event.error_kind),
            )


# The end of a reply is one short piece over and over: no room is ever enough for that.
_LOOP = re.compile(r"((.{1,16}?)\2{4,}).{0,15}\Z", re.DOTALL)
_LEAST = 12  # characters of such an end: a long number has equal digits too


def _loops(case: Case, event: Replied) -> bool:
    """Whether the reply went round in circles, which is the model's own doing."""
    replies = case.trajectory.messages[event.message : event.message + 1]
    ends = (_LOOP.search(reply.content[-200:]) for reply in replies)
    return any(end is not None and len(end[1]) >= _LEAST for end in ends)


def windowing(case: Case) -> Iterator[Finding]:
    """`dropped:TOOL` for a tool result left out of the window, `output_cut:TOOL`, `reply_cut` and
    `context_exceeded`."""
    results = {e.message: e for e in case.events if isinstance(e, Acted)}
    for index, event in enumerate(case.events):
        match event:
            case ContextCut():
                lost = [results[i] for i in event.dropped if i in results]
                if lost:
                    yield case.finding(
                        signature("dropped", lost[-1].tool),
                        CAUSE,
                        Severity.CRITICAL if _missed(case, index, lost) else Severity.MAJOR,
                        event=index,
                        quote=pair("keep_tokens", event.keep_tokens),
                    )
            case OutputCut():
                yield case.finding(
                    signature("output_cut", event.tool),
                    CAUSE,
                    Severity.MAJOR,
                    event=index,
                    quote=pair("after", event.after),
                )
            case Replied(stop_reason=StopReason.LENGTH) if not _loops(case, event):
                yield case.finding(
                    signature("reply_cut"),
                    CAUSE,
                    Severity.MAJOR,
                    event=index,
                    quote=pair("stop_reason", event.stop_reason.value),
                )
            case Ended(reason="context_exceeded"):
                yield case.finding(
                    signature("context_exceeded"),
                    CAUSE,
                    Severity.CRITICAL,
                    event=index,
                    quote=pair("reason", event.reason),
                )
            case _:
                pass


def remembering(case: Case) -> Iterator[Finding]:
    """`evicted` where memory pushed an entry out, `notes_crowd` where notes took the room that the
    episode's own messages needed."""
    for index, event in enumerate(case.events):
        if isinstance(event, Remembered) and event.action == "evicted":
            yield case.finding(
                signature("evicted"),
                RootCause.MEMORY_OVERFLOW,
                Severity.MAJOR,
                event=index,
                quote=pair("action", event.action),
            )
    memory = case.harness.memory
    if memory.policy != "notes":
        return
    size = sum(len(note.text) for note in memory.entries) // 4
    for index, event in enumerate(case.events):
        if isinstance(event, ContextCut) and size > event.keep_tokens // 2:
            yield case.finding(
                signature("notes_crowd"),
                RootCause.MEMORY_OVERFLOW,
                Severity.CRITICAL,
                event=index,
                quote=pair("tokens", event.tokens),
            )


def _missed(case: Case, index: int, lost: list[Acted]) -> bool:
    """Whether a lost result was asked for again, or nothing was achieved without it."""
    later = [e for e in case.events[index + 1 :] if isinstance(e, Acted)]
    again = [(e.call.name, e.call.arguments) for e in later]
    fresh = [e for e in later if e.error_kind is None and not e.done]
    return not fresh or any((e.call.name, e.call.arguments) in again for e in lost)


def _progress(case: Case) -> bool:
    """Whether the last action worked and was not made before."""
    acted = [e for e in case.events if isinstance(e, Acted)]
    turned_away = [e.turn for e in case.events if isinstance(e, CallRefused)]
    if (
        not acted
        or acted[-1].error_kind is not None
        or acted[-1].turn < max(turned_away, default=0)
    ):
        return False
    last = (acted[-1].call.name, acted[-1].call.arguments)
    return all((e.call.name, e.call.arguments) != last for e in acted[:-1])
