"""What every harness with a loop, tools and a protocol is there for."""

from collections.abc import Iterator
from itertools import pairwise

from evener.protocols.behaviour import Behaviour
from evener.protocols.conduct import acted, attempts, handed_in, written
from evener.protocols.event import Ended, Parsed, ParseFailed
from evener.protocols.harness import Harness
from evener.protocols.trajectory import Trajectory


def conduct(harness: Harness) -> Iterator[Behaviour]:
    """`one_call`, `ended_in_time`, `tool_first`, `repaired`, `no_repeat`; the last three where the
    harness has tools."""
    yield Behaviour(
        name="one_call",
        part="middleware.protocol",
        text="every reply is read as one call",
        shown=_one_call,
    )
    yield Behaviour(
        name="ended_in_time",
        part="middleware.loop.max_turns",
        text="the episode is ended by an action, not by its limits",
        shown=_ended,
    )
    if not harness.tools:
        return
    yield Behaviour(
        name="tool_first",
        part="tools",
        text="an action works before an answer is given",
        shown=_tool_first,
        conditional=True,
    )
    yield Behaviour(
        name="repaired",
        part="tools",
        text="after a rejected call comes another one, and in the end one that works",
        occasion=rejected,
        shown=repaired,
        conditional=True,
    )
    yield Behaviour(
        name="no_repeat",
        part="tools",
        text="no call is made twice running",
        shown=_no_repeat,
        conditional=True,
    )


def rejected(trajectory: Trajectory) -> bool:
    """Whether a call was refused, or an action failed."""
    return any(not ok for _, ok in attempts(trajectory))


def repaired(trajectory: Trajectory) -> bool:
    """Whether no rejected call was made again at once, and something worked after the last one."""
    made = [((call.name, call.arguments), ok) for call, ok in attempts(trajectory)]
    again = any(not ok and call == after for (call, ok), (after, _) in pairwise(made))
    return bool(made) and made[-1][1] and not again


def _one_call(trajectory: Trajectory) -> bool:
    read = [event for event in trajectory.events if isinstance(event, Parsed | ParseFailed)]
    return bool(read) and all(isinstance(e, Parsed) and len(e.calls) == 1 for e in read)


def _ended(trajectory: Trajectory) -> bool:
    return handed_in(trajectory) is not None and any(
        isinstance(e, Ended) and e.reason == "final" for e in trajectory.events
    )


def _tool_first(trajectory: Trajectory) -> bool:
    first = next((event for event in acted(trajectory) if event.error_kind is None), None)
    return first is not None and not first.done


def _no_repeat(trajectory: Trajectory) -> bool:
    made = [(call.name, call.arguments) for call in written(trajectory)]
    return bool(made) and all(call != after for call, after in pairwise(made))
