"""Units: which tool is chosen for them, and what it is given."""

from collections.abc import Iterator

from evener.environments.storefront.detectors.question import WORDS, asked, of
from evener.protocols.behaviour import Behaviour
from evener.protocols.conduct import amount, attempts, worked
from evener.protocols.digest import JsonObject
from evener.protocols.trajectory import Trajectory


def _conversions(trajectory: Trajectory) -> Iterator[JsonObject]:
    """The arguments of every attempt at a conversion. A refused call has the name of a tool, which
    a harness may choose, so it is known by the arguments that no other action has."""
    for call, _ in attempts(trajectory):
        if call.name == "convert" or {"from", "to"} <= call.arguments.keys():
            yield call.arguments


def _chosen(trajectory: Trajectory) -> bool:
    return any(True for _ in _conversions(trajectory))


def _uncalculated(trajectory: Trajectory) -> bool:
    return bool(worked(trajectory)) and not worked(trajectory, "calculator")


def _value(trajectory: Trajectory) -> bool:
    return any(
        amount(given.get("value")) in asked(trajectory).numbers
        for given in _conversions(trajectory)
    )


def _direction(trajectory: Trajectory) -> bool:
    wanted = asked(trajectory)
    return any(
        event.call.arguments.get("from") == wanted.source
        and event.call.arguments.get("to") == wanted.target
        for event in worked(trajectory, "convert")
    )


CONVERSION: tuple[Behaviour, ...] = (
    Behaviour(
        name="convert_chosen",
        part="skills[convert].tools",
        text="a conversion is attempted",
        occasion=of("convert"),
        shown=_chosen,
        conditional=True,
        settings=WORDS,
    ),
    Behaviour(
        name="not_calculated",
        part="skills[convert].tools",
        text="something worked, and the calculator was left alone",
        occasion=of("convert"),
        shown=_uncalculated,
        conditional=True,
        settings=WORDS,
    ),
    Behaviour(
        name="value_copied",
        part="skills[convert].examples",
        text="a conversion is attempted of the question's number",
        occasion=of("convert"),
        shown=_value,
        conditional=True,
        settings=WORDS,
    ),
    Behaviour(
        name="units_asked",
        part="skills[convert].examples",
        text="a conversion works from the question's unit to the one it asks for",
        occasion=of("convert"),
        shown=_direction,
        settings=WORDS,
    ),
)
