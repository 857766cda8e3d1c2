"""Whether the student followed the parts that were active: did it call the tools they name?"""

from collections.abc import Collection, Iterable, Sequence

from evener.agents.harness.runtime import Runtime
from evener.protocols.event import Activated, Adhered, Event
from evener.protocols.harness import ExampleTurn
from evener.protocols.port import ActionSpec


def adherence(
    runtime: Runtime,
    events: Sequence[Event],
    *,
    called: Collection[str],
    actions: dict[str, ActionSpec],
    turn: int,
) -> tuple[Adhered, ...]:
    """For each active skill, and for the prompt's examples, that name tools to work with (tools
    that only end an episode aside): whether one of these was called."""
    harness = runtime.harness
    active = {event.part for event in events if isinstance(event, Activated)}
    named: dict[str, set[str]] = {"prompt.examples": _called_in(harness.prompt.examples)}
    for skill in harness.skills:
        named[f"skills[{skill.name}]"] = {*(skill.tools or ()), *_called_in(skill.examples)}
    ending = {name for name, tool in runtime.toolbox.tools.items() if tool.ends(actions)}
    return tuple(
        Adhered(turn=turn, part=part, followed=bool(working & set(called)))
        for part, names in named.items()
        if part in active and (working := names - ending)
    )


def _called_in(examples: Iterable[Iterable[ExampleTurn]]) -> set[str]:
    return {turn.call.name for turns in examples for turn in turns if turn.call is not None}
