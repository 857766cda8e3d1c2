"""Patterns of a right step that the loop or a hook kept from counting (Mid)."""

from collections.abc import Iterator

from evener.agents.pattern.course import steps_made, wanted_roles
from evener.agents.pattern.finding import Case, Finding, pair, signature
from evener.agents.pattern.onview import on_view
from evener.agents.pattern.role import NUMBER
from evener.agents.pattern.saying import shown_texts
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.event import Acted, Ended, HookFired, Parsed
from evener.protocols.message import Call
from evener.protocols.patch import FieldEdit

CAUSE = RootCause.MIDDLEWARE_MISMATCH


def losing(case: Case) -> Iterator[Finding]:
    """`stopped` where a stop string that nothing on view speaks of ended the episode before its
    end, `blocked:HOOK` where a hook held back the very answer that the documentation would hand in.
    """
    yield from _stopped(case)
    yield from _blocked(case)


def _stopped(case: Case) -> Iterator[Finding]:
    stops = case.harness.middleware.loop.stop
    said = " ".join(text.text for text in shown_texts(case))
    said += " ".join(t.content or "" for example in on_view(case) for t in example)
    if any(isinstance(e, Acted) and e.done for e in case.events):
        return
    announced = any(stop.strip() and stop.strip() in said for stop in stops)
    for index, event in enumerate(case.events):
        if isinstance(event, Ended) and event.reason == "stop_string" and not announced:
            yield case.finding(
                signature("stopped"),
                CAUSE,
                Severity.CRITICAL,
                event=index,
                quote=pair("reason", event.reason),
                suggestion=case.edit("middleware.loop.stop", []),
            )


def _blocked(case: Case) -> Iterator[Finding]:
    for index, event in enumerate(case.events):
        if not isinstance(event, HookFired) or event.effect != "blocked":
            continue
        asked = [e for e in case.events[:index] if isinstance(e, Parsed) and e.turn == event.turn]
        calls = [call for parsed in asked for call in parsed.calls]
        if not calls or not _right_answer(case, calls[-1], index):
            continue
        ended = [e for e in case.events[index:] if isinstance(e, Acted) and e.done]
        if any(_values(e.call) == _values(calls[-1]) for e in ended):
            continue
        yield case.finding(
            signature("blocked", event.hook),
            CAUSE,
            Severity.CRITICAL,
            event=index,
            quote=pair("hook", event.hook),
            suggestion=_without(case, event),
        )
        return


def _right_answer(case: Case, call: Call, index: int) -> bool:
    """Whether a call ends the task with the result that the documented course ends with."""
    tools = {tool.name: tool.action for tool in case.harness.tools}
    final = {action.name for action in case.background.actions if action.final}
    wanted = wanted_roles(case)
    if tools.get(call.name, call.name) not in final or len(wanted) < 2:
        return False
    source = wanted[-2].action
    given = [step.result for step in steps_made(case) if step.event < index]
    names = [step.action for step in steps_made(case) if step.event < index]
    results = [result for name, result in zip(names, given, strict=True) if name == source]
    return bool(results) and _plain(results[-1]) in _values(call)


def _values(call: Call) -> tuple[str, ...]:
    return tuple(_plain(str(value)) for value in call.arguments.values())


def _plain(text: str) -> str:
    """A number as it is written shortest, so that 2 and 2.0 are the same answer."""
    bare = text.strip()
    return f"{float(bare):.12g}" if NUMBER.fullmatch(bare.removeprefix("-")) else bare


def _without(case: Case, event: HookFired) -> FieldEdit:
    """The edit that takes the hook out of its stage."""
    hooks = getattr(case.harness.middleware.hooks, event.stage, ())
    kept = [hook.document() for hook in hooks if hook.name != event.hook]
    return case.edit(f"middleware.hooks.{event.stage}", kept)
