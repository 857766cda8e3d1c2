"""What misleads, what memory keeps to itself, which tool is not what it should be, and when it is
the model's own slip."""

from collections.abc import Callable

import pytest
from pydantic import JsonValue

from evener.agents.pattern import AGENT_ERROR, Background, Finding, signatures
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.digest import canonical
from evener.protocols.event import (
    Acted,
    Activated,
    Adhered,
    CallRefused,
    Coerced,
    ContextCut,
    Ended,
    Event,
    ParseFailed,
    Remembered,
)
from evener.protocols.harness import (
    ArgumentRule,
    Harness,
    Hook,
    Hooks,
    Memory,
    Middleware,
    Note,
    Prompt,
    Skill,
    Step,
    Tool,
)
from evener.protocols.message import Call
from evener.protocols.patch import Patch
from evener.protocols.trajectory import Trajectory

Episode = Callable[..., Trajectory]
MakeDesk = Callable[..., Harness]


def act(tool: str, result: str, error: str | None = None, /, **arguments: JsonValue) -> Acted:
    call = Call(name=tool, arguments=arguments)
    done = tool == "reply" and error is None
    return Acted(turn=0, tool=tool, call=call, observation=result, error_kind=error, done=done)


END = Ended(turn=1, reason="final")
FOUND = act("find", "B2", title="middlemarch")
REPLIED = act("reply", "done", text="B2")
WRONG = act("reply", "done", text="C9")
PLAIN = ParseFailed(turn=0, fault="no_call", detail="there is no call")


def first(
    harness: Harness, background: Background, episode: Episode, *events: Event, **more: str
) -> Finding:
    """The best explanation; where it suggests an edit, the edit applies."""
    trajectory = episode(harness, *events, **more)
    found = signatures(trajectory, harness=harness, background=background)[0]
    assert found.quote in canonical(trajectory.events[found.event].document())
    if found.suggestion is not None:
        Patch(base=harness.digest(), edits=(found.suggestion,)).apply(harness)
    return found


def noted(harness: Harness, *notes: tuple[str, str], policy: str = "notes") -> Harness:
    entries = tuple(Note(name=name, text=text) for name, text in notes)
    memory = Memory.model_validate({"policy": policy, "entries": entries, "capacity": 2})
    return harness.model_copy(update={"memory": memory})


def test_a_template_that_hides_the_question_is_to_blame(
    harness: Harness, background: Background, episode: Episode
) -> None:
    short = "{% if 'shelf' in question %}A customer asks.{% else %}{{ question }}{% endif %}"
    hidden = harness.model_copy(
        update={"prompt": harness.prompt.model_copy(update={"task": short})}
    )
    found = first(hidden, background, episode, WRONG, END)
    assert (found.signature, found.root_cause) == ("task_hidden", RootCause.PROMPT_AMBIGUITY)
    asked = {"prompt": "Where is Emma?"}
    assert first(hidden, background, episode, WRONG, END, **asked).signature != "task_hidden"


def test_tools_that_nothing_lists_are_told_from_a_wrong_name(
    make_desk: MakeDesk, background: Background, episode: Episode
) -> None:
    call = Call(name="search", arguments={"title": "x"})
    refused = CallRefused(turn=0, call=call, reason="unknown_tool", detail="not called")
    listed = make_desk(shown=())
    found = first(listed, background, episode, refused, END)
    assert found.signature == "refused:unknown_tool:search"
    silent = listed.model_copy(update={"prompt": Prompt(system="Call a tool.")})
    found = first(silent, background, episode, refused, END)
    assert (found.signature, found.root_cause) == ("tools_unlisted", RootCause.PROMPT_AMBIGUITY)


def test_a_wrong_end_is_blamed_on_the_example_that_shows_it(
    harness: Harness, background: Background, episode: Episode
) -> None:
    document = harness.document()
    text = canonical(document).replace('{"text":"C1"}', '{"text":"C"}')
    wrong = Harness.model_validate_json(text)
    found = first(wrong, background, episode, FOUND, WRONG, END)
    assert found.signature == "wrong_example:prompt.examples[1]"
    assert found.root_cause is RootCause.PROMPT_AMBIGUITY
    assert found.suggestion is not None
    assert found.suggestion.field_path == "prompt.examples[1][3].call.arguments.text"
    assert found.suggestion.new_value == "C1"


@pytest.mark.parametrize(
    ("said", "made", "blamed"),
    [
        ("Add 20 % to it.", "emma*1.2", True),
        ("A box holds ten.", "emma/10", True),
        ("Add 20 % to it.", "emma*1.3", False),
        ("Nothing to add.", "emma*1.2", False),
    ],
)
def test_a_number_in_a_call_is_traced_to_the_text_that_speaks_of_it(
    harness: Harness,
    background: Background,
    episode: Episode,
    said: str,
    made: str,
    blamed: bool,
) -> None:
    event = act("find", "B2", title=made)
    skill = Skill(name="odd", text=said)
    skilled = harness.model_copy(update={"skills": (skill,)})
    active = Activated(turn=0, part="skills[odd]")
    found = first(skilled, background, episode, active, event, REPLIED, END)
    assert (found.signature == "told_number:skills[odd].text") is blamed
    asleep = first(skilled, background, episode, event, REPLIED, END)
    assert not asleep.signature.startswith("told_number")
    noting = noted(harness, ("odd", said))
    recalled = Remembered(turn=0, action="recalled", entry="odd")
    found = first(noting, background, episode, recalled, event, REPLIED, END)
    assert (found.root_cause is RootCause.MEMORY_OVERFLOW) is blamed
    # a note that was pushed out was not read
    pushed_out = recalled.model_copy(update={"action": "evicted"})
    found = first(noting, background, episode, pushed_out, event, REPLIED, END)
    assert not found.signature.startswith("told_number")


def test_a_number_of_the_task_or_of_a_result_is_nobody_s(
    harness: Harness, background: Background, episode: Episode
) -> None:
    system = harness.prompt.model_copy(update={"system": "Room 7, shelf 12.\n{{ tools }}"})
    told = harness.model_copy(update={"prompt": system})
    event = act("find", "12", title="emma 7")
    again = act("find", "B2", title="emma 12")
    asked = {"prompt": "Which shelf in room 7 holds Middlemarch?"}
    found = first(told, background, episode, event, again, REPLIED, END, **asked)
    assert not found.signature.startswith("told_number")


def test_a_tool_that_is_missing_is_named_before_the_skill(
    make_desk: MakeDesk, background: Background, episode: Episode
) -> None:
    bare = make_desk(shown=())
    lacking = bare.model_copy(update={"tools": bare.tools[1:]})
    found = first(lacking, background, episode, WRONG, END)
    assert (found.signature, found.root_cause) == (
        "no_tool:where:find",
        RootCause.TOOL_SCHEMA_ERROR,
    )
    assert found.suggestion is not None
    assert found.suggestion.field_path == "tools[find]"


def test_an_alias_that_makes_another_value_of_a_plural_is_wrong(
    harness: Harness, background: Background, episode: Episode
) -> None:
    rule = ArgumentRule(aliases={"weeks": "month", "months": "month"})
    tools = [
        t.model_copy(update={"arguments": {"span": rule}}) if t.name == "renew" else t
        for t in harness.tools
    ]
    mending = harness.model_copy(update={"tools": tuple(tools)})

    def mended(before: str, after: str) -> Coerced:
        call = Call(name="renew", arguments={"card": 1, "span": before})
        return Coerced(
            turn=0, call=call, argument="span", before=before, after=after, rule="value_alias"
        )

    done = act("renew", "ok", card=1, span="month")
    end = act("reply", "done", text="ok")
    asked = {"kind": "renewal", "prompt": "Card 1 keeps its loan two weeks."}
    found = first(mending, background, episode, mended("weeks", "month"), done, end, END, **asked)
    assert (found.signature, found.root_cause) == ("alias:renew.span", RootCause.TOOL_SCHEMA_ERROR)
    assert found.suggestion is not None
    assert found.suggestion.new_value == {"weeks": "week", "months": "month"}
    right = first(mending, background, episode, mended("months", "month"), done, end, END, **asked)
    assert right.signature != "alias:renew.span"


def test_a_composite_that_gives_its_action_another_form_is_wrong(
    harness: Harness, background: Background, episode: Episode
) -> None:
    steps = (Step(action="find", arguments={"title": "{{ title }}/2"}),)
    tool = Tool(
        name="shelf", steps=(*steps, Step(action="reply", arguments={"text": "{{ result }}"}))
    )
    composed = harness.model_copy(update={"tools": (*harness.tools, tool)})

    def made(title: str) -> tuple[Acted, Acted]:
        inner = act("find", "B2", title=title).model_copy(update={"tool": "shelf"})
        return inner, REPLIED.model_copy(update={"tool": "shelf"})

    found = first(composed, background, episode, *made("emma/2"), END)
    assert (found.signature, found.root_cause) == ("steps:shelf", RootCause.TOOL_SCHEMA_ERROR)
    assert first(composed, background, episode, *made("emma"), END).signature == AGENT_ERROR


def test_a_schema_that_lets_through_what_its_action_refuses_is_found(
    harness: Harness, background: Background, episode: Episode
) -> None:
    text = canonical(harness.document()).replace('{"type":"integer"}', '{"type":"string"}')
    wrong = Harness.model_validate_json(text)
    event = act("renew", "card: '1' is no integer", "bad_arguments", card="1", span="week")
    asked = {"kind": "renewal"}
    found = first(wrong, background, episode, event, END, **asked)
    assert found.signature == "schema:renew.card"
    assert first(harness, background, episode, event, END, **asked).signature != found.signature


NOTES = (
    ("where", "On which shelf a book is: find, then reply."),
    ("renewal", "A card keeps its loan: renew, then reply."),
    ("hours", "Open from nine."),
)


def test_a_note_that_was_there_and_not_recalled_is_memory_s_fault(
    make_desk: MakeDesk, background: Background, episode: Episode
) -> None:
    full = noted(make_desk(shown=()), *NOTES)
    evicted = Remembered(turn=0, action="evicted", entry="where")
    recalled = Remembered(turn=0, action="recalled", entry="renewal")
    found = first(full, background, episode, evicted, recalled, WRONG, END)
    assert found.signature == "note_not_recalled:where:where"
    assert (found.root_cause, found.severity) == (RootCause.MEMORY_OVERFLOW, Severity.CRITICAL)
    assert found.suggestion is not None
    assert (found.suggestion.field_path, found.suggestion.new_value) == ("memory.capacity", 3)
    off = noted(make_desk(shown=()), *NOTES, policy="none")
    found = first(off, background, episode, WRONG, END)
    assert found.suggestion is not None
    assert found.suggestion.field_path == "memory.policy"
    elsewhere = noted(make_desk(shown=()), *NOTES[1:])
    assert first(elsewhere, background, episode, WRONG, END).signature == "no_example:where"


def test_a_note_that_was_followed_and_leaves_a_step_out_is_wrong(
    make_desk: MakeDesk, background: Background, episode: Episode
) -> None:
    short = noted(make_desk(shown=()), ("where", "On which shelf a book is: reply at once."))
    recalled = Remembered(turn=0, action="recalled", entry="where")
    found = first(short, background, episode, recalled, WRONG, END)
    assert found.signature == "wrong_note:where:where"
    assert found.root_cause is RootCause.MEMORY_OVERFLOW
    full = noted(make_desk(shown=()), NOTES[0])
    # a right note that was left is the student's slip, where notes are how the harness teaches
    assert first(full, background, episode, recalled, WRONG, END).signature == AGENT_ERROR


def test_notes_that_crowd_the_window_explain_what_it_drops(
    harness: Harness, background: Background, episode: Episode
) -> None:
    crowded = noted(harness, ("long", "x" * 400))
    cut = ContextCut(turn=1, dropped=(3,), tokens=200, keep_tokens=120)
    result = FOUND.model_copy(update={"message": 3})
    assert first(crowded, background, episode, result, cut, END).signature == "notes_crowd"
    assert first(harness, background, episode, result, cut, END).signature == "dropped:find"


def test_words_fall_short_where_a_harness_has_nothing_but_words(
    make_desk: MakeDesk, background: Background, episode: Episode
) -> None:
    bare = make_desk(shown=())
    found = first(bare, background, episode, WRONG, END)
    assert (found.signature, found.root_cause) == ("no_example:where", RootCause.SKILL_MISSING)
    spoken = bare.model_copy(
        update={"prompt": Prompt(system="Name the shelf of a book.\n{{ tools }}")}
    )
    found = first(spoken, background, episode, WRONG, END)
    assert (found.signature, found.root_cause) == ("no_example:where", RootCause.PROMPT_AMBIGUITY)


def test_words_where_calls_were_asked_for_and_shown_are_the_loop_s_to_answer(
    harness: Harness, background: Background, episode: Episode
) -> None:
    assert first(harness, background, episode, PLAIN, END).root_cause is RootCause.PROMPT_AMBIGUITY
    form = 'Write {"name": tool, "arguments": {...}}.\n{{ tools }}'
    told = harness.model_copy(update={"prompt": harness.prompt.model_copy(update={"system": form})})
    found = first(told, background, episode, PLAIN, END)
    assert (found.signature, found.root_cause) == ("plain_answer", RootCause.MIDDLEWARE_MISMATCH)
    hooks = Hooks(after_model=(Hook(name="require_action"),))
    reminding = told.model_copy(update={"middleware": Middleware(hooks=hooks)})
    unheeded = Adhered(turn=1, part="middleware.hooks.after_model[require_action]", followed=False)
    found = first(reminding, background, episode, PLAIN, unheeded, END)
    assert (found.signature, found.severity) == (AGENT_ERROR, Severity.CRITICAL)


@pytest.mark.parametrize(
    "events",
    [
        [act("renew", "ok", card=1, span="week"), REPLIED, END],
        [FOUND, WRONG, END],
        [FOUND, FOUND, FOUND, END],
    ],
    ids=["another course", "another answer", "the same call"],
)
def test_what_goes_against_the_examples_on_view_is_the_model_s_own(
    harness: Harness, background: Background, episode: Episode, events: list[Event]
) -> None:
    assert first(harness, background, episode, *events).root_cause is RootCause.AGENT_ERROR
    cut = ParseFailed(turn=0, fault="invalid_json", detail="?")
    found = first(harness, background, episode, cut, END)
    assert found.root_cause is RootCause.MIDDLEWARE_MISMATCH


def test_a_documented_course_that_nothing_showed_was_known_all_the_same(
    make_desk: MakeDesk, background: Background, episode: Episode
) -> None:
    bare = make_desk(shown=())
    assert first(bare, background, episode, FOUND, REPLIED, END).signature == AGENT_ERROR
    others = make_desk(shown=background.of("renewal"))
    found = first(others, background, episode, FOUND, REPLIED, END)
    assert found.signature == "no_example:where"


def test_a_phrase_is_no_spelling_of_a_shorter_name(
    harness: Harness, background: Background, episode: Episode
) -> None:
    event = act("find", "no title 'old emma'; nearest: 'emma'", "unknown_title", title="old emma")
    found = signatures(
        episode(harness, event, REPLIED, END), harness=harness, background=background
    )
    assert not any(f.signature.startswith("observed") for f in found)


def test_a_student_that_loses_the_form_lacks_the_procedure_it_was_not_shown(
    make_desk: MakeDesk, background: Background, episode: Episode
) -> None:
    """Its first call was readable: that the next ones are not comes of not knowing what to do."""
    bare = make_desk(shown=())
    fault = ParseFailed(turn=1, fault="invalid_json", detail="a comma too many")
    assert first(bare, background, episode, fault, fault, END).signature == "parse:invalid_json"
    found = first(bare, background, episode, WRONG, fault, fault, END)
    assert (found.signature, found.root_cause) == ("no_example:where", RootCause.SKILL_MISSING)
    # where the procedure is on view, what is left is the form
    shown = make_desk()
    assert first(shown, background, episode, WRONG, fault, END).signature == "parse:invalid_json"
