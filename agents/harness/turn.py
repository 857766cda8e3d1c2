"""One turn: ask the model, read its reply, execute its calls, tell it what came of them.

A reply that makes no call costs the turn and is answered with the fault and the way out. Whatever
was executed is told, even where the episode ends in the middle.
"""

from evener.agents.harness import render
from evener.agents.harness.answer import Answers, attempt
from evener.agents.harness.correction import correction, ignored
from evener.agents.harness.episode import Episode, EpisodeOver
from evener.agents.harness.execution import make_call
from evener.agents.harness.hooks.effect import HookState, Reread
from evener.protocols.event import Adhered, Parsed, ParseFailed
from evener.protocols.model import Reply


async def take_turn(episode: Episode) -> None:
    """One model call and what follows from it. Raises EpisodeOver where the episode ends."""
    owed, episode.reminded = episode.reminded, set()
    reply, first = await episode.ask()
    answers = Answers(episode)
    try:
        reading = _reading(episode, first, reply, answers)
        if reading is not None:
            await _follow(episode, reading, reply, answers)
    finally:
        for part in sorted(owed):
            followed = answers.executed > 0
            episode.log(Adhered(turn=episode.turn, part=part, followed=followed))
        if answers.told:
            told, hook_only = answers.told, answers.hook_only
            harness = episode.runtime.harness
            episode.account.answer(render.results(harness, told, hook_only=hook_only))
    if answers.done:
        left = ", ".join(answers.unmade)
        raise EpisodeOver("final", f"not executed, for they came behind it: {left}" if left else "")


async def _follow(episode: Episode, reading: Parsed, reply: Reply, answers: Answers) -> None:
    """Execute the calls of a reply, in the order they were written."""
    if reading.repaired:
        if "in_reasoning" in reading.repairs:
            episode.activate("middleware.protocol.in_reasoning", "a call was taken from there")
        else:
            episode.activate("middleware.protocol.strict", "a near miss was read as a call")
    if not reading.calls:
        episode.activate("middleware.loop.stop")
        if not _kept_going(episode, answers):
            raise EpisodeOver("stop_string")
    for number, call in enumerate(reading.calls, 1):
        await make_call(episode, call, answers)
        if answers.done:
            answers.unmade = tuple(later.name for later in reading.calls[number:])
            return
    harness, offered = episode.runtime.harness, episode.opening.offered
    said = ignored(harness, reading, reply.text, offered=offered)
    if said is not None:
        answers.add(None, said)


def _reading(
    episode: Episode, first: Parsed | ParseFailed, reply: Reply, answers: Answers
) -> Parsed | None:
    """The reading to follow: the first, or the lenient one if a hook asks for it. None where there
    is none; the student is then told, or the episode is over."""
    if isinstance(first, Parsed):
        episode.log(first)
        return first
    place = len(episode.events)
    lenient = episode.read(reply, strict=False) if episode.runtime.hooks["after_model"] else first
    repairable = isinstance(lenient, Parsed) and bool(lenient.calls)
    effects = episode.ask_hooks(
        HookState(stage="after_model", fault=first.fault, repairable=repairable)
    )
    if isinstance(lenient, Parsed) and any(isinstance(effect, Reread) for effect in effects):
        episode.reread(reply, lenient)
        return lenient
    # what failed comes before the hooks that look at it
    episode.events.insert(place, first)
    if first.fault == "no_call":
        answers.remind(effects)
        if not effects and not _kept_going(episode, answers):
            raise EpisodeOver("no_action", first.detail)
        return None
    protocol, offered = episode.runtime.harness.middleware.protocol, episode.opening.offered
    text = correction(first.fault, first.detail, protocol=protocol, offered=offered)
    answers.add(None, text)
    answers.remind(effects)
    stopped = attempt(episode, f"reply {reply.text.strip()}")
    if stopped is not None:
        answers.add(None, stopped)
    return None


def _kept_going(episode: Episode, answers: Answers) -> bool:
    """Whether a hook keeps an episode going that a reply without a call would end."""
    effects = episode.ask_hooks(HookState(stage="before_finish", fault="no_call"))
    answers.remind(effects)
    return bool(effects)
