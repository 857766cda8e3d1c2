"""A harness with votes: several whole episodes on one task, and the most frequent answer counts.

Every ballot has a session and a seed of its own and is sampled. What is kept is the first episode
that gave the elected answer, scored by its own session, with the usage of all of them. Ballots that
the machinery failed do not vote; nobody who votes sees a score.
"""

import re
from collections.abc import Sequence
from decimal import Context, Decimal

from pydantic import JsonValue

from evener.environments.scoring import vote, written
from evener.environments.scoring.vote import Same
from evener.protocols.digest import canonical
from evener.protocols.event import Acted, Ended, Voted
from evener.protocols.model import Usage
from evener.protocols.port import Environment, Equating
from evener.protocols.trajectory import EpisodeKey, Outcome, Trajectory

_THOUSANDS = re.compile(r"[-+]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,4})?")
TEMPERATURE = 0.7
"""Of the ballots of an episode that is asked for greedily: greedy ones would all be one."""


def ballot_key(key: EpisodeKey) -> EpisodeKey:
    """The key that the ballots run under: sampled, whatever the episode is."""
    return key.model_copy(update={"temperature": key.temperature or TEMPERATURE})


async def counted(ballots: Sequence[Trajectory], key: EpisodeKey, *, same: Same) -> Trajectory:
    """The elected episode under `key`, with an event that tells the count."""
    first, votes = await _election(ballots, same)
    whole = ballots[first]
    event = Voted(
        turn=whole.events[-1].turn if whole.events else 0,
        ballots=len(ballots),
        elected=first,
        votes=votes,
        answers=tuple(answer(ballot) for ballot in ballots),
    )
    return whole.model_copy(
        update={
            "id": key.id(),
            "key": key,
            "events": (*whole.events, event),
            "usage": sum((ballot.usage for ballot in ballots), Usage()),
        }
    )


async def majority(episodes: Sequence[Trajectory], *, same: Same) -> int:
    """The index of the first episode with the most frequent answer; of equally frequent ones that
    which came first. Where none has an answer, the first that the machinery did not fail."""
    return (await _election(episodes, same))[0]


async def _election(episodes: Sequence[Trajectory], same: Same) -> tuple[int, int]:
    """The index of the elected episode, and how many gave its answer."""
    usable = scored(episodes)
    answers = [answer(one) if at in usable else None for at, one in enumerate(episodes)]
    chosen = await vote.majority(answers, same)
    return (chosen.voters[0], len(chosen.voters)) if chosen else (usable[0], 0)


def scored(episodes: Sequence[Trajectory]) -> list[int]:
    """Indices of those that the machinery did not fail; all where it failed them all."""
    whole = [at for at, episode in enumerate(episodes) if episode.outcome is not Outcome.INFRA]
    return whole or [*range(len(episodes))]


def answer(episode: Trajectory) -> str | None:
    """What the episode ended with, as it was handed in: the arguments of the action that ended it,
    else the last reply where that was the answer. None without one."""
    acts = [e for e in episode.events if isinstance(e, Acted) and e.done and not e.error_kind]
    if acts:
        given = acts[-1].call.arguments
        return _text(next(iter(given.values())) if len(given) == 1 else given)
    if any(isinstance(e, Ended) and e.reason in ("final", "stop_string") for e in episode.events):
        said = [message.content for message in episode.messages if message.sampled]
        return _text(said[-1]) if said else None
    return None


def same_in(environment: Environment) -> Same:
    """How an environment equates answers: its own way, else as they are written, but for case,
    spaces and the notation of a number."""
    if isinstance(environment, Equating):
        return environment.same

    async def as_written(left: str, right: str) -> bool:
        return _normal(left) == _normal(right)

    return as_written


def _text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return written(value)
    return canonical(value)


def _normal(text: str) -> str:
    """`1,234.50` and `1234.5` are one number, `1,2` is none. Nothing is rounded."""
    bare = text.replace(",", "") if _THOUSANDS.fullmatch(text) else text
    if not _NUMBER.fullmatch(bare):
        return " ".join(text.split()).casefold()
    digits = Decimal(bare)
    return str(digits.normalize(Context(prec=len(bare)))) if digits else "0"
