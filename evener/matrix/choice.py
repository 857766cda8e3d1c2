"""Which of several episodes on one task a user would take, without a verifier and with one."""

from collections.abc import Sequence

from evener.agents.ballot import answer, scored
from evener.protocols.event import Acted, CallRefused, ParseFailed
from evener.protocols.trajectory import Trajectory


def best(episodes: Sequence[Trajectory]) -> int:
    """The index of the one that looks best from outside: it ended with an answer, then it has the
    fewest refused or failed calls, then the fewest model calls; of equals the first."""
    return min(
        scored(episodes),
        key=lambda at: (answer(episodes[at]) is None, faults(episodes[at]), calls(episodes[at])),
    )


def verified(episodes: Sequence[Trajectory]) -> int:
    """The index of the first one that the verifier accepts; else the first. No user has this."""
    usable = scored(episodes)
    return next((at for at in usable if episodes[at].solved), usable[0])


def faults(episode: Trajectory) -> int:
    """Calls that could not be read, were refused, or failed in the environment."""
    return sum(
        isinstance(event, ParseFailed | CallRefused)
        or (isinstance(event, Acted) and event.error_kind is not None)
        for event in episode.events
    )


def calls(episode: Trajectory) -> int:
    """Model calls, cached ones included."""
    return episode.usage.made
