"""Patterns of a harness that does not show how this kind of task is solved (P and S).

The documentation's examples say which actions a kind needs, in which order. A harness shows that
procedure when an example on view makes the same calls for the same kind.
"""

import re
from collections.abc import Iterator

from evener.agents.pattern.background import (
    Procedure,
    actions_of,
    calls_of,
    procedure,
    question,
)
from evener.agents.pattern.finding import Case, Finding, pair, signature
from evener.agents.pattern.lexical import GRAMMAR, likeness, words
from evener.agents.pattern.onview import Example, active_skills, on_view
from evener.agents.pattern.saying import Text, shown_texts, tells, told
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.digest import JsonObject
from evener.protocols.event import Acted, CallRefused, Ended, Parsed, ParseFailed

ENOUGH = 3
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)


def teaching(case: Case) -> Iterator[Finding]:
    """`no_example:K`, `skill_not_active:K:SKILL`, `wrong_skill:K:SKILL`, `no_form:K:FORM`,
    `few_examples:K` and `off_procedure:K`."""
    kind = case.background.kind(case.trajectory.task)
    documented = case.background.procedures(kind) if kind is not None else ()
    if kind is None or not any(documented):
        return
    event, quote = departure(case, documented)
    followed = executed(case) in documented
    shown = [e for e in on_view(case) if shows_kind(case, e, kind)]
    if not shown:
        name = _untaught(case, kind)
        yield case.finding(
            name,
            _kept_in(case, name),
            Severity.MAJOR if followed or told(case, kind) else Severity.CRITICAL,
            event=event,
            quote=quote,
        )
        return
    stranger = None if followed else _stranger(case, kind)
    if stranger is not None:
        yield case.finding(
            signature("wrong_skill", kind, stranger),
            RootCause.SKILL_MISSING,
            Severity.CRITICAL,
            event=event,
            quote=quote,
        )
    unseen = unseen_form(case, kind, shown)
    if unseen is not None:
        name, severity = signature("no_form", kind, unseen), Severity.MAJOR
    elif len(shown) < min(ENOUGH, len(case.background.of(kind))):
        name, severity = signature("few_examples", kind), Severity.MAJOR
    elif not followed:
        name, severity = signature("off_procedure", kind), Severity.MINOR
    else:
        return
    yield case.finding(
        name,
        RootCause.SKILL_MISSING if severity is Severity.MAJOR else RootCause.PROMPT_AMBIGUITY,
        severity,
        event=event,
        quote=quote,
    )


def _kept_in(case: Case, name: str) -> RootCause:
    """What should have taught: a skill, unless the harness teaches other kinds elsewhere. Where it
    has no skill and no example, that is the part whose texts tell how others are solved, or the
    prompt that speaks of what tasks are about. Then the words fall short."""
    harness = case.harness
    if harness.skills or harness.prompt.examples or not name.startswith("no_example"):
        return RootCause.SKILL_MISSING
    others = [kind for kind in case.background.kinds() if signature("no_example", kind) != name]
    for text in shown_texts(case):
        if text.path.startswith(("memory", "prompt")) and _tells_any(case, text, others):
            return text.cause
    asked = {word for found in case.background.asked for word in found} - GRAMMAR
    spoken = set(words(_TEMPLATE.sub(" ", harness.prompt.system)))
    if harness.memory.entries or not asked & spoken:
        return RootCause.SKILL_MISSING
    return RootCause.PROMPT_AMBIGUITY


def _tells_any(case: Case, text: Text, kinds: list[str]) -> bool:
    return any(tells(case, text, kind) for kind in kinds)


def _untaught(case: Case, kind: str) -> str:
    """Why no example of the kind was on view: one sleeps in a skill, a skill for another kind took
    the place of the prompt's, or there is none."""
    asleep = next((s for s in case.harness.skills if _teaches(case, s.examples, kind)), None)
    if asleep is not None:
        return signature("skill_not_active", kind, asleep.name)
    names = active_skills(case)
    usurper = next((s for s in case.harness.skills if s.name in names and s.examples), None)
    if usurper is not None and _teaches(case, case.harness.prompt.examples, kind):
        return signature("wrong_skill", kind, usurper.name)
    return signature("no_example", kind)


def _stranger(case: Case, kind: str) -> str | None:
    """An active skill that was triggered and shows nothing of the kind, beside one that does."""
    names = active_skills(case)
    return next(
        (
            s.name
            for s in case.harness.skills
            if s.name in names and s.when.words and s.examples
            if not _teaches(case, s.examples, kind)
        ),
        None,
    )


def unseen_form(case: Case, kind: str, shown: list[Example]) -> str | None:
    """The form of the documented example most like the task, if no example on view has it and the
    student's own calls did not find it."""
    prompt = case.trajectory.task.prompt
    like = max(
        case.background.of(kind),
        key=lambda e: likeness(question(e.turns), prompt, case.background.rarity),
    )
    form = case.background.form
    wanted = form(calls_of(like.turns))
    seen = {form(calls_of(example, case.harness)) for example in shown}
    made = form(_worked(case))
    return None if not wanted or wanted in seen or wanted == made else wanted


def answering_else(case: Case) -> Iterator[Finding]:
    """`answer_differs:K`: the answer is not the last result, where in every documented solution of
    the kind it is."""
    index = answer_differs(case)
    kind = case.background.kind(case.trajectory.task)
    if index is None or kind is None:
        return
    event = case.events[index]
    given = event.call.arguments if isinstance(event, Acted) else {}
    name = next(iter(given), "")
    yield case.finding(
        signature("answer_differs", kind),
        RootCause.MIDDLEWARE_MISMATCH,
        Severity.MINOR,
        event=index,
        quote=pair(name, given[name]) if name else "",
    )


def answer_differs(case: Case) -> int | None:
    """The event that handed in something else than the last result, where every documented
    solution of the kind hands that in."""
    kind = case.background.kind(case.trajectory.task)
    finals = [a.name for a in case.background.actions if a.final]
    acted = [(i, e) for i, e in enumerate(case.events) if isinstance(e, Acted)]
    if kind is None or len(acted) < 2 or acted[-1][1].call.name not in finals:
        return None
    index, last = acted[-1]
    before = acted[-2][1]
    documented = [passes_on(e.turns) for e in case.background.of(kind)]
    if before.error_kind is not None or not documented or not all(documented):
        return None
    given = [_amount(str(value)) for value in last.call.arguments.values()]
    return None if _amount(before.observation) in given else index


def passes_on(turns: Example) -> bool:
    """Whether an example's last call passes on its last result."""
    results = [_amount(t.content) for t in turns if t.role == "tool" and t.content]
    calls = [t.call for t in turns if t.call is not None]
    return bool(results and calls) and results[-1] in [
        _amount(str(value)) for value in calls[-1].arguments.values()
    ]


def _amount(text: str) -> float | str:
    """A number where the text is one, so that 2 and 2.0 are the same answer."""
    try:
        return float(text.strip())
    except ValueError:
        return text.strip()


def shows_kind(case: Case, example: Example, kind: str) -> bool:
    """Whether an example of the harness makes the calls of a kind, for a task of that kind."""
    made = procedure(example, case.harness)
    if made not in case.background.procedures(kind):
        return False
    rivals = [k for k in case.background.kinds() if made in case.background.procedures(k)]
    return len(rivals) == 1 or case.background.kind_of(question(example)) == kind


def executed(case: Case) -> Procedure:
    """The actions that worked, in order, a call repeated at once counted once."""
    return tuple(name for name, _ in _worked(case))


def _worked(case: Case) -> tuple[tuple[str, JsonObject], ...]:
    acted = [e.call for e in case.events if isinstance(e, Acted) and e.error_kind is None]
    return tuple(
        (call.name, call.arguments)
        for at, call in enumerate(acted)
        if at == 0 or (call.name, call.arguments) != (acted[at - 1].name, acted[at - 1].arguments)
    )


def departure(case: Case, documented: tuple[Procedure, ...]) -> tuple[int, str]:
    """The event where the student left every documented procedure, and a quote from it."""
    made: Procedure = ()
    for index, event in enumerate(case.events):
        match event:
            case Acted(error_kind=None):
                made = (*made, event.call.name)
                if not any(path[: len(made)] == made for path in documented):
                    return index, pair("name", event.call.name)
            case ParseFailed():
                return index, pair("fault", event.fault)
            case CallRefused() if not _continues(case, event.call.name, made, documented):
                return index, pair("name", event.call.name)
            case _:
                pass
    return last_event(case)


def last_event(case: Case) -> tuple[int, str]:
    """The last event in which the student did something, or the last of all."""
    for index in range(len(case.events) - 1, -1, -1):
        event = case.events[index]
        if isinstance(event, Acted):
            return index, pair("name", event.call.name)
        if isinstance(event, Parsed | ParseFailed | CallRefused):
            return index, pair("kind", event.kind)
    for index, event in enumerate(case.events):
        if isinstance(event, Ended):
            return index, pair("reason", event.reason)
    return len(case.events) - 1, ""


def _continues(case: Case, tool: str, made: Procedure, documented: tuple[Procedure, ...]) -> bool:
    ahead = (*made, *actions_of(tool, case.harness))
    return any(path[: len(ahead)] == ahead for path in documented)


def _teaches(case: Case, examples: tuple[Example, ...], kind: str) -> bool:
    return any(shows_kind(case, example, kind) for example in examples)
