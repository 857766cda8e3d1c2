"""What a student did in an episode, read from its events: what it attempted, what worked, what it
handed in. Nothing here looks at the score or the outcome."""

import re
from collections.abc import Iterator
from fractions import Fraction

from evener.protocols.event import Acted, CallRefused, Parsed
from evener.protocols.message import Call
from evener.protocols.trajectory import Trajectory

# Bounded, for a student may have written the text: Python refuses integers of 4300 digits.
_NUMBER = re.compile(r"(?<![\w.])[0-9]{1,40}(?:\.[0-9]{1,40})?(?!\w|\.[0-9])")
_AMOUNT = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?")
LONGEST = 10_000  # characters that are read of such a text


def well_formed(trajectory: Trajectory) -> bool:
    """Whether any reply could be read as a call, whatever came of the call."""
    return any(isinstance(event, Parsed) and event.calls for event in trajectory.events)


def acted(trajectory: Trajectory) -> tuple[Acted, ...]:
    """Every action that was executed, inner steps of composites included."""
    return tuple(event for event in trajectory.events if isinstance(event, Acted))


def worked(trajectory: Trajectory, *names: str) -> tuple[Acted, ...]:
    """The actions that worked and did not end the episode; only those of `names`, if any."""
    return tuple(
        event
        for event in acted(trajectory)
        if event.error_kind is None and not event.done and (not names or event.call.name in names)
    )


def handed_in(trajectory: Trajectory) -> Acted | None:
    """The action that ended the episode, or None."""
    return next((e for e in acted(trajectory) if e.error_kind is None and e.done), None)


def attempts(trajectory: Trajectory) -> tuple[tuple[Call, bool], ...]:
    """Every call that was executed or refused, as it stood after mending, and whether it worked.
    A call that a hook held back is not among them."""
    return tuple(_attempts(trajectory))


def written(trajectory: Trajectory) -> tuple[Call, ...]:
    """Every call as the student wrote it, in order, whatever came of it."""
    return tuple(
        call for event in trajectory.events if isinstance(event, Parsed) for call in event.calls
    )


def numbers(text: str) -> tuple[Fraction, ...]:
    """The unsigned decimal numbers in a text, in order, exact."""
    return tuple(Fraction(found) for found in _NUMBER.findall(text[:LONGEST]))


def amount(value: object) -> Fraction | str:
    """A value as an exact number where it is or writes one, else as stripped text: `2`, `2.0` and
    `" 2"` are the same."""
    text = str(value).strip()[:LONGEST]
    return Fraction(text) if _AMOUNT.fullmatch(text) else text


def _attempts(trajectory: Trajectory) -> Iterator[tuple[Call, bool]]:
    for event in trajectory.events:
        match event:
            case CallRefused():
                yield event.call, False
            case Acted():
                yield event.call, event.error_kind is None
            case _:
                pass
