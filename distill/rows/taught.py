"""Which replies of an episode a student may be taught, whatever a row is made of.

A reply that led to an error, was cut, or was not sampled in the episode carries no loss; an episode
in which anything of a reviewer's private side can be read makes no row at all.
"""

from collections import Counter
from collections.abc import Sequence

from evener.agents.harness.replay import View, views
from evener.distill.rows.marker import Markers, Sieve
from evener.protocols.event import Acted, CallRefused, ParseFailed, Replied
from evener.protocols.harness import Harness
from evener.protocols.message import Message
from evener.protocols.model import StopReason
from evener.protocols.trajectory import Trajectory


class Refused(Exception):
    """A row or an episode that is not to be trained on, and the reason's name."""


class Lessons:
    """The replies to teach under `harness`, without any in which one of `markers` stands.
    `untrained` counts the others of kept episodes by reason."""

    def __init__(self, harness: Harness, markers: Markers) -> None:
        self.private = Sieve(markers)
        self.untrained: Counter[str] = Counter()
        self._harness = harness

    def of(self, episode: Trajectory) -> list[View]:
        """The turns whose reply carries a loss. Refuses an episode with an action that the serving
        harness does not have, for what followed it could not happen there, and a private one."""
        faulty = _faulty_turns(episode)
        taught: list[View] = []
        untrained: Counter[str] = Counter()
        for view in views(self._harness, episode):
            why = faulty.get(view.turn)
            if view.fault is not None and why is None:
                raise Refused("unreadable" if view.fault == "not_readable" else "unknown_action")
            if not view.response.sampled:
                why = "not_sampled"
            if why is None:
                taught.append(view)
            else:
                untrained[why] += 1
        self._check_private(taught, episode)
        self.untrained += untrained
        return taught

    def _check_private(self, taught: Sequence[View], episode: Trajectory) -> None:
        """Refuse an episode in which something of the reviewers' side can be read."""
        prompt = episode.task.prompt
        for view in taught:
            if self.private.was_replaced(episode.id, view.turn, view.response.content):
                raise Refused("private_marker")
        messages = {m for view in taught for m in (*_plain(view.context), *_plain([view.response]))}
        for content, sampled in messages:
            if self.private.repeats(content, prompt=prompt):
                raise Refused("private_marker")
            if sampled and self.private.names_tool(content, prompt=prompt):
                raise Refused("private_marker")


def _plain(messages: Sequence[Message]) -> list[tuple[str, bool]]:
    """Text of each message, and whether a model wrote it in this episode."""
    return [(message.content, message.sampled) for message in messages]


def _faulty_turns(episode: Trajectory) -> dict[int, str]:
    """Turns whose reply was cut, could not be read, was refused, or met an error."""
    faulty: dict[int, str] = {}
    for event in episode.events:
        match event:
            case Replied(stop_reason=StopReason.LENGTH):
                faulty[event.turn] = "cut_by_length"
            case ParseFailed() | CallRefused():
                faulty.setdefault(event.turn, "not_executed")
            case Acted(error_kind=str()):
                faulty.setdefault(event.turn, "met_an_error")
            case _:
                pass
    return faulty
