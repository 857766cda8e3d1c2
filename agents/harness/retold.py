"""What a student was told after a reply, put together again from the events of that turn."""

from collections.abc import Sequence

from evener.agents.harness import observation
from evener.agents.harness.correction import correction, ignored
from evener.protocols.event import (
    Acted,
    CallRefused,
    Event,
    HookFired,
    OutputCut,
    Parsed,
    ParseFailed,
)
from evener.protocols.harness import Harness
from evener.protocols.message import Call

Told = tuple[Call | None, str]


def retold(
    harness: Harness, events: Sequence[Event], *, offered: Sequence[str], reply: str
) -> list[Told]:
    """The results and other words of one turn as `harness` would put them, in order.

    `events` are those of the turn, `reply` is the text they answer. Outputs of which only the
    beginning was recorded are cut there.
    """
    calls = [call for event in events if isinstance(event, Parsed) for call in event.calls]
    settled = {e.call.id for e in events if isinstance(e, CallRefused)}
    settled |= {e.call.id for e in events if isinstance(e, Acted) and e.message is not None}
    blocked = [call for call in calls if call.id not in settled]
    told: list[Told] = []
    for index, event in enumerate(events):
        match event:
            case ParseFailed() if event.fault != "no_call":
                protocol = harness.middleware.protocol
                text = correction(event.fault, event.detail, protocol=protocol, offered=offered)
                told.append((None, text))
            case CallRefused():
                told.append((event.call, event.detail))
            case Acted() if event.message is not None:
                told.append((event.call, _output(harness, event, events[index + 1 :])))
            case HookFired(effect="reminded"):
                told.append((None, event.detail))
            case HookFired(effect="blocked"):
                told.append((blocked.pop(0) if blocked else None, event.detail))
            case _:
                pass
    parsed = next((event for event in events if isinstance(event, Parsed)), None)
    if parsed is not None:
        said = ignored(harness, parsed, reply, offered=offered)
        if said is not None and not any(isinstance(e, Acted) and e.done for e in events):
            told.append((None, said))
    return told


def _output(harness: Harness, acted: Acted, later: Sequence[Event]) -> str:
    """An output cut as the harness cuts, by its whole length where that was recorded."""
    length: int | None = None
    for event in later:
        if isinstance(event, Acted):
            break
        if isinstance(event, OutputCut):
            length = event.before
    tokens = harness.middleware.context.tool_output_tokens
    return observation.shown(acted.observation, acted.error_kind, tokens, length=length)
