"""Which signature a harness earns that does not show how a kind of task is solved."""

from collections.abc import Callable

from pydantic import JsonValue

from evener.agents.pattern import AGENT_ERROR, Background, Finding, signatures
from evener.protocols.attribution import RootCause, Severity
from evener.protocols.digest import JsonObject, canonical
from evener.protocols.event import (
    Acted,
    Activated,
    Ended,
    ParseFailed,
)
from evener.protocols.harness import Harness, Skill, Step, Tool, When
from evener.protocols.message import Call
from evener.protocols.trajectory import Trajectory

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


END = Ended(turn=1, reason="final")
FOUND = act("find", "B2", title="middlemarch")
REPLIED = act("reply", "done", text="B2")
PLAIN = ParseFailed(turn=0, fault="no_call", detail="there is no call")


def found(trajectory: Trajectory, harness: Harness, background: Background) -> list[Finding]:
    made = list(signatures(trajectory, harness=harness, background=background))
    for finding in made:
        event = trajectory.events[finding.event]
        assert finding.quote
        assert finding.quote in canonical(event.document())
        assert finding.quote in event.model_dump_json()
    return made


def test_a_kind_without_examples_is_named_and_the_departure_cited(
    make_desk: Callable[..., Harness], background: Background, episode: Episode
) -> None:
    harness = make_desk(shown=background.of("renewal"))
    wrong = act("renew", "ok", card=1, span="week")
    made = found(episode(harness, wrong, REPLIED, END), harness, background)
    assert made[0].signature == "no_example:where"
    assert (made[0].root_cause, made[0].severity) == (RootCause.SKILL_MISSING, Severity.CRITICAL)
    assert made[0].event == 0
    assert made[0].quote == '"name":"renew"'


def test_a_task_without_a_kind_is_placed_by_its_words(
    make_desk: Callable[..., Harness], background: Background, episode: Episode
) -> None:
    harness = make_desk(shown=())
    trajectory = episode(harness, PLAIN, END, kind="", prompt="Card 7 keeps its loan a year.")
    assert found(trajectory, harness, background)[0].signature == "no_example:renewal"


def test_too_few_examples_are_told_from_none(
    make_desk: Callable[..., Harness], background: Background, episode: Episode
) -> None:
    harness = make_desk(shown=background.examples[:1])
    made = found(episode(harness, REPLIED, END), harness, background)
    assert "few_examples:where" in [f.signature for f in made]


def test_a_composite_tool_shows_the_actions_it_stands_for(
    background: Background, episode: Episode
) -> None:
    both = Tool(
        name="answer",
        steps=(
            Step(action="find", arguments={"title": "{{ title }}"}),
            Step(action="reply", arguments={"text": "{{ result }}"}),
        ),
    )
    turns = background.examples[0].turns
    call = turns[1].call
    assert call is not None
    example = (
        turns[0],
        turns[1].model_copy(update={"call": call.model_copy(update={"name": "answer"})}),
    )
    harness = Harness.model_validate_json(
        canonical(
            {
                "name": "c",
                "tools": [both.document()],
                "prompt": {"examples": [[t.document() for t in example]]},
            }
        )
    )
    names = [f.signature for f in found(episode(harness, REPLIED, END), harness, background)]
    assert "no_example:where" not in names


def test_a_skill_that_sleeps_and_a_skill_in_the_way_are_named(
    harness: Harness, make_desk: Callable[..., Harness], background: Background, episode: Episode
) -> None:
    skill = Skill(
        name="places",
        when=When(words=("whereabouts",)),
        examples=tuple(e.turns for e in background.of("where")),
    )
    sleeping = make_desk(shown=()).model_copy(update={"skills": (skill,)})
    made = found(episode(sleeping, PLAIN, END), sleeping, background)
    assert made[0].signature == "skill_not_active:where:places"

    other = skill.model_copy(
        update={"name": "loans", "examples": tuple(e.turns for e in background.of("renewal"))}
    )
    crowded = harness.model_copy(update={"skills": (other,)})
    active = Activated(turn=0, part="skills[loans]")
    made = found(episode(crowded, active, PLAIN, END), crowded, background)
    assert made[0].signature == "wrong_skill:where:loans"


def test_a_form_that_no_example_on_view_has_is_named(
    make_desk: Callable[..., Harness], background: Background, episode: Episode
) -> None:
    # three titles of one word are shown; the documented example most like the task has a volume
    two = background.examples[0]
    call = two.turns[1].call
    assert call is not None
    arguments: JsonObject = {"title": "emma/2"}
    turns = (
        two.turns[0].model_copy(update={"content": "Where is the second volume of Emma?"}),
        two.turns[1].model_copy(update={"call": call.model_copy(update={"arguments": arguments})}),
        *two.turns[2:],
    )
    more = background.model_copy(
        update={"examples": (*background.examples, two.model_copy(update={"turns": turns}))}
    )
    harness = make_desk()
    asked = "Where is the second volume of Middlemarch?"
    made = found(episode(harness, FOUND, REPLIED, END, prompt=asked), harness, more)
    assert made[0].signature == "no_form:where:a/9"
    plain = found(episode(harness, FOUND, REPLIED, END), harness, more)
    assert [f.signature for f in plain] == [AGENT_ERROR]
