"""Which of several episodes on one task a user would take, without a verifier and with one."""

from collections import Counter
from collections.abc import Sequence

from pydantic import JsonValue

from evener.protocols.digest import canonical
from evener.protocols.event import Acted, CallRefused, Ended, ParseFailed
from evener.protocols.trajectory import Outcome, Trajectory


def best(episodes: Sequence[Trajectory]) -> int:
    """The index of the one that looks best from outside: it ended with an answer, then it has the
    fewest refused or failed calls, then the fewest model calls; of equals the first."""
    return min(
        scored(episodes),
        key=lambda at: (answer(episodes[at]) is None, faults(episodes[at]), calls(episodes[at])),
    )


def majority(episodes: Sequence[Trajectory]) -> int:
    """The index of the first one with the most frequent answer; of equally frequent ones that which
    came first. Where none has an answer, the first."""
    answers = {at: found for at in scored(episodes) if (found := answer(episodes[at])) is not None}
    if not answers:
        return scored(episodes)[0]
    (most, _), *_ = Counter(answers.values()).most_common(1)
    return next(at for at, found in answers.items() if found == most)


def verified(episodes: Sequence[Trajectory]) -> int:
    """The index of the first one that the verifier accepts; else the first. No user has this."""
    usable = scored(episodes)
    return next((at for at in usable if episodes[at].solved), usable[0])


def scored(episodes: Sequence[Trajectory]) -> list[int]:
    """Indices of those that the machinery did not fail; all where it failed them all."""
    whole = [at for at, episode in enumerate(episodes) if episode.outcome is not Outcome.INFRA]
    return whole or [*range(len(episodes))]


def answer(episode: Trajectory) -> str | None:
    """What the episode ended with, in a form in which equal numbers are equal: the arguments of the
    action that ended it, else the last reply where that was the answer. None without one."""
    acts = [e for e in episode.events if isinstance(e, Acted) and e.done and not e.error_kind]
    if acts:
        given = acts[-1].call.arguments
        return _normal(next(iter(given.values())) if len(given) == 1 else given)
    if any(isinstance(e, Ended) and e.reason in ("final", "stop_string") for e in episode.events):
        said = [message.content for message in episode.messages if message.sampled]
        return _normal(said[-1]) if said else None
    return None


def _normal(value: JsonValue) -> str:
    text = value.strip() if isinstance(value, str) else canonical(value)
    try:
        return f"{float(text.replace(',', '')):.10g}"
    except ValueError:
        return " ".join(text.casefold().split())


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
