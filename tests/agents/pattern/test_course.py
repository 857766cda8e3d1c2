"""Where a course leaves the documentation's, and which words or examples on view account for it."""

from collections.abc import Callable

import pytest
from pydantic import JsonValue

from evener.agents.pattern import AGENT_ERROR, Background, Case, signatures
from evener.agents.pattern.course import departed
from evener.protocols.attribution import RootCause
from evener.protocols.digest import JsonObject
from evener.protocols.event import Acted, CallRefused, Ended, Event, HookFired, Parsed
from evener.protocols.harness import (
    ExampleCall,
    ExampleTurn,
    Harness,
    Hook,
    Hooks,
    Loop,
    Memory,
    Middleware,
    Note,
    Prompt,
    Tool,
)
from evener.protocols.message import Call
from evener.protocols.port import ActionSpec, WorkedExample
from evener.protocols.trajectory import Trajectory

Episode = Callable[..., Trajectory]
Turn = tuple[str, JsonObject, str]


def schema(**properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": dict(properties), "required": list(properties)}


ACTIONS = (
    ActionSpec(
        name="fare",
        description="The fare between two stops.",
        parameters=schema(start={"type": "string"}, end={"type": "string"}),
    ),
    ActionSpec(
        name="reckon",
        description="Works a term out.",
        parameters=schema(term={"type": "string"}),
    ),
    ActionSpec(
        name="charge",
        description="Ends the task with a sum.",
        parameters=schema(sum={"type": "number"}),
        final=True,
    ),
)


def worked(kind: str, asked: str, *turns: Turn) -> WorkedExample:
    made = [ExampleTurn(role="user", content=asked)]
    for name, arguments, result in turns:
        made.append(ExampleTurn(role="assistant", call=ExampleCall(name=name, arguments=arguments)))
        if result:
            made.append(ExampleTurn(role="tool", content=result))
    return WorkedExample(kind=kind, turns=tuple(made))


def trip(riders: int, start: str, end: str, fare: int) -> WorkedExample:
    return worked(
        "group",
        f"{riders} riders travel from {start} to {end}. What does the group pay?",
        ("fare", {"start": start, "end": end}, str(fare)),
        ("reckon", {"term": f"{riders}*{fare}"}, str(riders * fare)),
        ("charge", {"sum": riders * fare}, ""),
    )


def refund(paid: int, kept: int) -> WorkedExample:
    return worked(
        "refund",
        f"A ticket of {paid} is returned, {kept} are kept. What is the refund?",
        ("reckon", {"term": f"{paid}-{kept}"}, str(paid - kept)),
        ("charge", {"sum": paid - kept}, ""),
    )


TRIPS = (trip(3, "Arc", "Bay", 12), trip(5, "Cove", "Dale", 21), trip(4, "Elm", "Fen", 17))
REFUNDS = (refund(90, 12), refund(41, 7), refund(66, 25))
OFFICE = Background(actions=ACTIONS, examples=(*TRIPS, *REFUNDS))
ASKED = "7 riders travel from Gate to Hill. What does the group pay?"
END = Ended(turn=3, reason="final")


def office(system: str = "Call a tool.\n{{ tools }}", *shown: WorkedExample) -> Harness:
    tools = [
        Tool(name=a.name, description=a.description, parameters=a.parameters, action=a.name)
        for a in ACTIONS
    ]
    prompt = Prompt(system=system, examples=tuple(e.turns for e in shown))
    return Harness(name="office", prompt=prompt, tools=tuple(tools))


def act(name: str, result: str, turn: int = 0, tool: str = "", **arguments: JsonValue) -> Acted:
    call = Call(name=name, arguments=arguments)
    done = name == "charge"
    return Acted(turn=turn, tool=tool or name, call=call, observation=result, done=done)


FARE = act("fare", "15", start="Gate", end="Hill")
PRODUCT = act("reckon", "105", term="7*15")


def ended(value: float) -> Acted:
    return act("charge", "done", sum=value)


@pytest.mark.parametrize(
    ("events", "aspect"),
    [
        ([FARE, PRODUCT, ended(105)], "none"),
        ([FARE, act("reckon", "105", term="15 * 7"), ended(105)], "none"),
        ([FARE, act("reckon", "22", term="7+15"), ended(22)], "sign"),
        ([FARE, act("reckon", "75", term="5*15"), ended(75)], "value"),
        ([act("fare", "15", start="Hill", end="Gate"), PRODUCT, ended(105)], "order"),
        ([FARE, ended(15)], "early"),
        ([act("reckon", "105", term="7*15"), ended(105)], "other"),
        ([FARE, PRODUCT, ended(106)], "end"),
        ([FARE, PRODUCT], "open"),
    ],
)
def test_a_course_is_compared_by_roles_and_not_by_numbers(
    episode: Episode, events: list[Event], aspect: str
) -> None:
    harness = office()
    trajectory = episode(harness, *events, END, kind="group", prompt=ASKED)
    assert departed(Case(trajectory, harness, OFFICE)).aspect == aspect


def blamed(harness: Harness, episode: Episode, *events: Event, asked: str = ASKED) -> str:
    """The part and the pattern that come first."""
    kind = "refund" if "refund" in asked else "group"
    trajectory = episode(harness, *events, END, kind=kind, prompt=asked)
    found = signatures(trajectory, harness=harness, background=OFFICE)[0]
    return f"{found.root_cause.value} {found.signature}"


TOLD = "For a group: fare, then reckon riders times fare, then charge.\n{{ tools }}"


@pytest.mark.parametrize(
    ("said", "events"),
    [
        ("A group pays the fare plus the riders.", [FARE, act("reckon", "22", term="7+15")]),
        ("Stops go into fare the other way round.",
         [act("fare", "15", start="Hill", end="Gate"), PRODUCT]),
        ("`start` is the stop where they arrive.",
         [act("fare", "15", start="Hill", end="Gate"), PRODUCT]),
        ("Drivers ride too: count double.", [FARE, act("reckon", "210", term="2*7*15")]),
        ("Charge sums in hundreds.", [FARE, PRODUCT, ended(1.05)]),
        ("Every charge has a fee of 4.", [FARE, PRODUCT, ended(109)]),
        ("In the evening an estimate will do.", [ended(100)]),
        ("There is no need to reckon.", [FARE, ended(15)]),
    ],
)  # fmt: skip
def test_words_that_speak_of_what_was_done_are_to_blame_wherever_they_stand(
    episode: Episode, said: str, events: list[Event]
) -> None:
    events = [*events] if isinstance(events[-1], Acted) and events[-1].done else [*events, ended(9)]
    plain = office(TOLD)
    assert blamed(plain, episode, *events) == f"agent_error {AGENT_ERROR}"
    in_prompt = office(f"{said}\n{TOLD}")
    assert blamed(in_prompt, episode, *events).startswith("prompt_ambiguity told_")
    tools = [
        t.model_copy(update={"description": f"{t.description} {said}"}) if t.name == "fare" else t
        for t in plain.tools
    ]
    in_tool = plain.model_copy(update={"tools": tuple(tools)})
    assert blamed(in_tool, episode, *events).startswith("tool_schema_error told_")


def test_an_example_that_takes_another_course_is_to_blame_where_it_was_followed(
    episode: Episode,
) -> None:
    adding = worked(
        "group",
        "3 riders travel from Arc to Bay. What does the group pay?",
        ("fare", {"start": "Arc", "end": "Bay"}, "12"),
        ("reckon", {"term": "3+12"}, "15"),
        ("charge", {"sum": 15}, ""),
    )
    wrong = office("Call.\n{{ tools }}", adding, *REFUNDS)
    added = [FARE, act("reckon", "22", term="7+15"), ended(22)]
    assert blamed(wrong, episode, *added) == "prompt_ambiguity wrong_example:prompt.examples[0]"
    # the same course against right examples is the student's
    assert blamed(office("Call.\n{{ tools }}", *TRIPS), episode, *added).startswith("agent_error")
    missed = blamed(wrong, episode, FARE, act("reckon", "8", term="15-7"), ended(8))
    assert "wrong_example" not in missed


@pytest.mark.parametrize(
    ("events", "cause"),
    [
        ([FARE, act("reckon", "22", term="7+15"), ended(22)], "agent_error"),
        ([FARE, ended(15)], "agent_error"),
        ([act("reckon", "49", term="7*7"), ended(49)], "skill_missing"),
    ],
    ids=["a wrong sign", "a course begun and left", "another course from the start"],
)
def test_one_example_is_enough_for_a_slip_and_not_for_another_course(
    episode: Episode, events: list[Event], cause: str
) -> None:
    one = office("Call.\n{{ tools }}", TRIPS[0], *REFUNDS)
    assert blamed(one, episode, *events).startswith(cause)


def test_what_nothing_on_view_shows_still_asks_for_an_example(episode: Episode) -> None:
    others = office(TOLD.replace("group", "party"), *REFUNDS)
    assert blamed(others, episode, ended(100)) == "skill_missing no_example:group"
    # words do not teach where the harness teaches by examples
    worded = office(TOLD, *REFUNDS)
    assert blamed(worded, episode, ended(100)) == "skill_missing no_example:group"


def test_what_is_missing_is_missing_where_the_other_kinds_are_told(episode: Episode) -> None:
    note = Note(name="back", text="A refund: reckon what is returned minus what is kept, charge.")
    memory = Memory(policy="notes", entries=(note,))
    harness = office("Hello.\n{{ tools }}").model_copy(update={"memory": memory})
    trajectory = episode(harness, ended(100), END, kind="group", prompt=ASKED)
    from_notes = signatures(trajectory, harness=harness, background=OFFICE)[0]
    assert from_notes.signature == "no_example:group"
    assert from_notes.root_cause is RootCause.SKILL_MISSING  # the note was not read in


def test_a_refused_call_that_the_action_would_have_taken_is_the_schema_s(episode: Episode) -> None:
    plain = office(TOLD)
    tools = [
        t.model_copy(update={"parameters": schema(sum={"type": "integer"})})
        if t.name == "charge"
        else t
        for t in plain.tools
    ]
    strict = plain.model_copy(update={"tools": tuple(tools)})
    half = act("fare", "15.5", start="Gate", end="Hill")
    product = act("reckon", "108.5", term="7*15.5")
    call = Call(name="charge", arguments={"sum": 108.5})
    refused = CallRefused(turn=2, call=call, reason="wrong_type", argument="sum", detail="no")
    found = blamed(strict, episode, half, product, refused, ended(109))
    assert found == "tool_schema_error refused:wrong_type:charge.sum"


def test_a_tool_that_stands_for_an_action_that_another_is_named_after_is_to_blame(
    episode: Episode,
) -> None:
    plain = office(TOLD)
    check = plain.tools[2].model_copy(update={"name": "look", "description": "Looks a sum over."})
    wired = plain.model_copy(update={"tools": (*plain.tools, check)})
    looked = act("charge", "done", tool="look", sum=15)
    assert blamed(wired, episode, FARE, looked) == "tool_schema_error bound:look"
    assert blamed(wired, episode, FARE, ended(15)).startswith("agent_error")


def test_a_right_answer_that_a_hook_held_back_is_the_hook_s(episode: Episode) -> None:
    hooks = Hooks(before_finish=(Hook(name="verify_answer"),))
    harness = office(TOLD).model_copy(update={"middleware": Middleware(hooks=hooks)})
    call = Call(name="charge", arguments={"sum": 105})
    asked = Parsed(turn=3, calls=(call,))
    fired = HookFired(turn=3, hook="verify_answer", stage="before_finish", effect="blocked")
    events: list[Event] = [FARE, PRODUCT, FARE, asked, fired]
    assert blamed(harness, episode, *events, ended(15)) == (
        "middleware_mismatch blocked:verify_answer"
    )
    # one that was let through in the end was not lost, and a wrong one was rightly held back
    assert "blocked" not in blamed(harness, episode, *events, ended(105))
    wrong = Parsed(turn=3, calls=(call.model_copy(update={"arguments": {"sum": 9}}),))
    assert "blocked" not in blamed(harness, episode, FARE, PRODUCT, wrong, fired, ended(15))


def test_a_stop_string_that_nobody_spoke_of_is_the_loop_s(episode: Episode) -> None:
    stopped = Ended(turn=0, reason="stop_string")
    loop = Middleware(loop=Loop(stop=("STOP",)))
    silent = office(TOLD).model_copy(update={"middleware": loop})
    assert blamed(silent, episode, stopped) == "middleware_mismatch stopped"
    spoken = office(f"Say STOP when you are ready.\n{TOLD}").model_copy(update={"middleware": loop})
    assert "stopped" not in blamed(spoken, episode, stopped)


def test_a_name_that_a_text_spells_is_the_text_s(episode: Episode) -> None:
    call = Call(name="ask_fare", arguments={"start": "Gate", "end": "Hill"})
    refused = CallRefused(turn=0, call=call, reason="unknown_tool", detail="there is none")
    told = office(f"Fares come from ask_fare.\n{TOLD}")
    assert blamed(told, episode, refused, ended(9)) == "prompt_ambiguity told_name:prompt.system"
    assert "told_name" not in blamed(office(TOLD), episode, refused, ended(9))
