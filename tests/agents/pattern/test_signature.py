"""Which signature an event gives, and where the evidence stands."""

from collections.abc import Callable

import pytest
from pydantic import JsonValue

from evener.agents.pattern import AGENT_ERROR, Background, Finding, shows, signatures
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.digest import JsonObject, canonical
from evener.protocols.event import (
    Acted,
    CallRefused,
    ContextCut,
    Ended,
    Event,
    OutputCut,
    Parsed,
    ParseFailed,
    Remembered,
    Replied,
)
from evener.protocols.harness import ArgumentRule, Harness, Memory, Note
from evener.protocols.message import Call, Message
from evener.protocols.model import StopReason, Usage
from evener.protocols.path import ABSENT
from evener.protocols.trajectory import Outcome, Trajectory

Episode = Callable[..., Trajectory]


def act(tool: str, result: str, error: str | None = None, /, **arguments: JsonValue) -> Acted:
    call = Call(name=tool, arguments=arguments)
    return Acted(
        turn=0,
        tool=tool,
        call=call,
        observation=result,
        error_kind=error,
        done=tool == "reply",
        message=3,
    )


def refuse(reason: str, name: str, arguments: JsonObject, argument: str = "") -> CallRefused:
    return CallRefused.model_validate(
        {
            "turn": 0,
            "call": Call(name=name, arguments=arguments),
            "reason": reason,
            "argument": argument,
            "detail": "not called",
        }
    )


END = Ended(turn=1, reason="final")
FOUND = act("find", "B2", title="middlemarch")
REPLIED = act("reply", "done", text="B2")
FAULT = ParseFailed(turn=0, fault="invalid_json", detail="a comma too many")
AGAIN = Parsed(turn=0, calls=(Call(name="find", arguments={"title": "x"}),))
CUT = Replied(turn=0, context=(0,), message=1, stop_reason=StopReason.LENGTH, usage=Usage())
PLAIN = ParseFailed(turn=0, fault="no_call", detail="there is no call")


def found(trajectory: Trajectory, harness: Harness, background: Background) -> list[Finding]:
    made = list(signatures(trajectory, harness=harness, background=background))
    for finding in made:
        event = trajectory.events[finding.event]
        assert finding.quote
        assert finding.quote in canonical(event.document())
        assert finding.quote in event.model_dump_json()
    return made


@pytest.mark.parametrize(
    ("events", "signature", "cause", "severity"),
    [
        ([FAULT, END], "parse:invalid_json", RootCause.MIDDLEWARE_MISMATCH, Severity.CRITICAL),
        (
            [FAULT, FOUND, REPLIED, END],
            "parse:invalid_json",
            RootCause.MIDDLEWARE_MISMATCH,
            Severity.MINOR,
        ),
        ([PLAIN, END], "plain_answer", RootCause.PROMPT_AMBIGUITY, Severity.CRITICAL),
        (
            [refuse("unknown_tool", "search", {"title": "x"}), END],
            "refused:unknown_tool:search",
            RootCause.TOOL_SCHEMA_ERROR,
            Severity.MINOR,
        ),
        (
            [refuse("missing_argument", "find", {"book": "x"}, "title"), END],
            "refused:missing_argument:find.title",
            RootCause.TOOL_SCHEMA_ERROR,
            Severity.CRITICAL,
        ),
        (
            [refuse("unexpected_argument", "find", {"title": "x", "year": 1}, "year"), END],
            "refused:unexpected_argument:find.year",
            RootCause.TOOL_SCHEMA_ERROR,
            Severity.CRITICAL,
        ),
        (
            [refuse("wrong_value", "renew", {"card": 1, "span": "weeks"}, "span"), END],
            "refused:wrong_value:renew.span",
            RootCause.TOOL_SCHEMA_ERROR,
            Severity.CRITICAL,
        ),
        (
            [act("find", "no title ' Emma'", "unknown_title", title=" Emma"), REPLIED, END],
            "observed:unknown_title:find.title",
            RootCause.TOOL_SCHEMA_ERROR,
            Severity.CRITICAL,
        ),
        (
            [act("find", "try later", "unavailable", title="emma"), REPLIED, END],
            "passing_error:unavailable:find",
            RootCause.MIDDLEWARE_MISMATCH,
            Severity.CRITICAL,
        ),
        (
            [FOUND, act("reply", "done", text="C9"), END],
            "answer_differs:where",
            RootCause.MIDDLEWARE_MISMATCH,
            Severity.MINOR,
        ),
        (
            [AGAIN, AGAIN, AGAIN, END],
            "repeat:find",
            RootCause.MIDDLEWARE_MISMATCH,
            Severity.MAJOR,
        ),
        (
            [FOUND, Ended(turn=3, reason="max_turns")],
            "turns_out",
            RootCause.MIDDLEWARE_MISMATCH,
            Severity.CRITICAL,
        ),
        (
            [FOUND, ContextCut(turn=1, dropped=(3,), tokens=90, keep_tokens=50), FOUND, END],
            "dropped:find",
            RootCause.MIDDLEWARE_MISMATCH,
            Severity.CRITICAL,
        ),
        (
            [FOUND, OutputCut(turn=0, tool="find", before=900, after=80), END],
            "output_cut:find",
            RootCause.MIDDLEWARE_MISMATCH,
            Severity.MAJOR,
        ),
        (
            [CUT, END],
            "reply_cut",
            RootCause.MIDDLEWARE_MISMATCH,
            Severity.MAJOR,
        ),
        (
            [Ended(turn=0, reason="context_exceeded")],
            "context_exceeded",
            RootCause.MIDDLEWARE_MISMATCH,
            Severity.CRITICAL,
        ),
        (
            [Remembered(turn=0, action="evicted", entry="a"), END],
            "evicted",
            RootCause.MEMORY_OVERFLOW,
            Severity.MAJOR,
        ),
        (
            [act("renew", "ok", card=1, span="week"), REPLIED, END],
            "off_procedure:where",
            RootCause.PROMPT_AMBIGUITY,
            Severity.MINOR,
        ),
    ],
)  # fmt: skip
def test_an_event_gives_its_signature(
    harness: Harness,
    background: Background,
    episode: Episode,
    events: list[Event],
    signature: str,
    cause: RootCause,
    severity: Severity,
) -> None:
    trajectory = episode(harness, *events)
    made = {f.signature: f for f in found(trajectory, harness, background)}
    assert signature in made
    assert made[signature].root_cause is cause
    assert made[signature].severity is severity
    assert shows(trajectory, signature, harness=harness, background=background)


@pytest.mark.parametrize(
    ("text", "room"),
    [
        ('{"name": "calculator", "arguments": {"expression": "1.1.1.1.1.1.1.1', False),
        ("I think I think I think I think I think I th", False),
        ('{"name": "final", "arguments": {"answer": "a long story of', True),
        ('{"expression": "11111"', True),
    ],
)
def test_a_reply_that_goes_round_in_circles_was_not_cut_for_want_of_room(
    harness: Harness, background: Background, episode: Episode, text: str, room: bool
) -> None:
    asked = Message(role="user", content="?")
    said = Message(role="assistant", content=text, origin="student", sampled=True)
    cut = episode(harness, CUT, END).model_copy(update={"messages": (asked, said)})
    assert shows(cut, "reply_cut", harness=harness, background=background) is room


def test_a_documented_course_with_a_wrong_end_is_the_students_error(
    harness: Harness, background: Background, episode: Episode
) -> None:
    made = found(episode(harness, FOUND, REPLIED, END), harness, background)
    assert [f.signature for f in made] == [AGENT_ERROR]
    assert made[0].event == 1


@pytest.mark.parametrize("outcome", [Outcome.SOLVED, Outcome.INFRA])
def test_an_episode_that_did_not_fail_shows_nothing(
    harness: Harness, background: Background, episode: Episode, outcome: Outcome
) -> None:
    trajectory = episode(harness, FAULT, END, outcome=outcome)
    assert signatures(trajectory, harness=harness, background=background) == ()


@pytest.mark.parametrize(
    ("event", "path", "value"),
    [
        (refuse("missing_argument", "find", {"book": "x"}, "title"),
         "tools[find].arguments.title.names", ["book"]),
        (refuse("unknown_tool", "finds", {"title": "x"}), "tools[find].aliases", ["finds"]),
        (refuse("wrong_value", "renew", {"card": 1, "span": "weeks"}, "span"),
         "tools[renew].arguments.span.aliases", {"weeks": "week"}),
        (refuse("wrong_value", "renew", {"card": 1, "span": " week"}, "span"),
         "tools[renew].arguments.span.strip", True),
        (refuse("wrong_value", "renew", {"card": 1, "span": "Week"}, "span"),
         "tools[renew].arguments.span.lower", True),
        (act("find", "no title ' emma'", "unknown_title", title=" emma"),
         "tools[find].arguments.title.strip", True),
        (act("find", "no title 'EMMA'", "unknown_title", title="EMMA"),
         "tools[find].arguments.title.lower", True),
        (act("find", "no title 'emmma'; nearest: 'emma'", "unknown_title", title="emmma"),
         "tools[find].arguments.title.aliases", {"emmma": "emma"}),
    ],
)  # fmt: skip
def test_the_event_itself_suggests_the_mend(
    harness: Harness,
    background: Background,
    episode: Episode,
    event: Event,
    path: str,
    value: object,
) -> None:
    first = found(episode(harness, event, END), harness, background)[0]
    assert first.suggestion is not None
    assert first.suggestion.field_path == path
    assert first.suggestion.new_value == value


def test_a_mend_that_is_there_already_is_not_suggested(
    harness: Harness, background: Background, episode: Episode
) -> None:
    tools = [
        t.model_copy(update={"arguments": {"title": ArgumentRule(strip=True)}})
        for t in harness.tools[:1]
    ]
    mended = harness.model_copy(update={"tools": (*tools, *harness.tools[1:])})
    event = act("find", "no title ' emma'", "unknown_title", title=" emma")
    first = found(episode(mended, event, END), mended, background)[0]
    assert first.suggestion is None


def test_a_value_that_nothing_published_cures_is_not_blamed_on_the_harness(
    harness: Harness, background: Background, episode: Episode
) -> None:
    event = act("find", "no such title", "unknown_title", title="dracula")
    names = [f.signature for f in found(episode(harness, event, REPLIED, END), harness, background)]
    assert not any(name.startswith("observed") for name in names)


def test_a_schema_unlike_its_action_is_found_where_it_hurts(
    harness: Harness, background: Background, episode: Episode
) -> None:
    wrong = harness.tools[0].model_copy(
        update={
            "parameters": {
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
            }
        }
    )
    broken = harness.model_copy(update={"tools": (wrong, *harness.tools[1:])})
    event = act("find", "title is missing", "bad_call", name="emma")
    made = found(episode(broken, event, END), broken, background)
    assert made[0].signature == "schema:find.name"


def test_notes_that_fill_the_window_are_named(
    harness: Harness, background: Background, episode: Episode
) -> None:
    notes = Memory(policy="notes", entries=(Note(name="long", text="x" * 400),))
    crowded = harness.model_copy(update={"memory": notes})
    cut = ContextCut(turn=1, dropped=(3,), tokens=200, keep_tokens=120)
    names = [f.signature for f in found(episode(crowded, cut, END), crowded, background)]
    assert "notes_crowd" in names


def test_an_argument_name_that_is_no_field_path_is_left_alone(
    harness: Harness, background: Background, episode: Episode
) -> None:
    loose = harness.tools[0].model_copy(update={"parameters": {"type": "object"}})
    open_desk = harness.model_copy(update={"tools": (loose, *harness.tools[1:])})
    event = act("find", "no", "unknown", **{"a].b[": " emma", "title": "emma"})
    for finding in found(episode(open_desk, event, END), open_desk, background):
        assert finding.suggestion is None or finding.suggestion.new_value is not ABSENT
        assert finding.suggestion is None or "]." not in finding.suggestion.field_path[12:]
