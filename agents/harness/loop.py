"""The main loop: an episode of one student inside one harness, from the first prompt to the score.

It ends by the environment's final action, a stop string, a reply without a call, its limits, or a
failure of the machinery, which is never scored. The score is the environment's own word.
"""

from evener.agents.harness import observation
from evener.agents.harness.activation import adherence
from evener.agents.harness.episode import Episode, EpisodeOver
from evener.agents.harness.runtime import prepare
from evener.agents.harness.turn import take_turn
from evener.protocols.error import ContextExceeded, EvenerError, InfraError
from evener.protocols.event import Acted, Ended, EndReason
from evener.protocols.harness import Harness
from evener.protocols.port import Answerable, Model, Session
from evener.protocols.task import Task
from evener.protocols.trajectory import EpisodeKey, Outcome, Score, Trajectory

ANSWER_S = 30.0
SAID: frozenset[EndReason] = frozenset({"stop_string", "no_action"})
CUT_SHORT: frozenset[EndReason] = frozenset({"max_turns", "loop_guard", "context_exceeded"})


async def run_episode(
    session: Session,
    task: Task,
    harness: Harness,
    model: Model,
    *,
    key: EpisodeKey,
    sampling_seed: int,
    most_turns: int | None = None,
) -> Trajectory:
    """Run one episode of at most `max_turns` model calls, or `most_turns` where that is less, and
    score it.

    A failing engine or environment gives outcome `infra` without a score. Raises HarnessError
    before the first turn where the harness does not fit the environment, and lets budget errors
    and cancellation through. Whoever opened the session closes it.
    """
    runtime = prepare(harness)
    runtime.check(session.actions())
    episode = Episode(runtime, session, model, task, key=key, seed=sampling_seed)
    allowed = harness.middleware.loop.max_turns
    over = await _until_over(episode, turns=min(allowed, most_turns or allowed))
    over = await _answered(episode, over)
    score = await _score(session, over)
    for event in adherence(
        runtime,
        episode.events,
        called=episode.called,
        actions=episode.actions,
        turn=episode.turn,
    ):
        episode.log(event)
    episode.log(Ended(turn=episode.turn, reason=over.reason, detail=over.detail))
    return Trajectory(
        id=key.id(),
        key=key,
        task=task,
        model=model.ref,
        messages=tuple(episode.account.messages),
        events=tuple(episode.events),
        outcome=_outcome(over, score),
        score=score,
        usage=episode.usage,
    )


async def _until_over(episode: Episode, *, turns: int) -> EpisodeOver:
    try:
        episode.begin()
        for turn in range(turns):
            episode.turn = turn
            await take_turn(episode)
    except EpisodeOver as over:
        return over
    except ContextExceeded as error:
        return EpisodeOver("context_exceeded", str(error))
    except InfraError as error:
        return EpisodeOver("infra", str(error), kind=error.kind)
    episode.activate("middleware.loop.max_turns")
    return EpisodeOver("max_turns")


async def _answered(episode: Episode, over: EpisodeOver) -> EpisodeOver:
    """Hand in the answer that stands in a last reply without a call, where the environment finds
    one there. It is recorded like any action; no message told the student of it."""
    said = [message.content for message in episode.account.messages if message.sampled]
    if over.reason not in SAID or not said or not isinstance(episode.session, Answerable):
        return over
    try:
        call = episode.session.answer_in(said[-1])
    except EvenerError:
        raise
    except Exception as error:  # noqa: BLE001 - a third party's code; recorded as infra
        what = f"the last reply could not be read: {type(error).__name__}: {error}"
        return EpisodeOver("infra", what, kind="environment")
    if call is None:
        return over
    try:
        seen = await episode.act(call, timeout_s=ANSWER_S)
    except InfraError as error:
        return EpisodeOver("infra", str(error), kind=error.kind)
    tools = {tool.action: tool.name for tool in episode.runtime.harness.tools}
    episode.log(
        Acted(
            turn=episode.turn,
            tool=tools.get(call.name, call.name),
            call=call,
            observation=observation.kept(observation.safe(seen.text)),
            error_kind=seen.error_kind,
            elapsed=seen.elapsed,
            truncated=seen.truncated,
            done=seen.done,
        )
    )
    return over


async def _score(session: Session, over: EpisodeOver) -> Score:
    if over.reason == "infra":
        return Score(value=None, verdict="error", error_kind=over.kind)
    try:
        return await session.score()
    except InfraError as error:
        return Score(value=None, verdict="error", error_kind=error.kind)
    except EvenerError:
        raise
    except Exception as error:  # noqa: BLE001 - a third party's code; recorded as infra
        kind = f"scoring: {type(error).__name__}: {error}"
        return Score(value=None, verdict="error", error_kind=kind[:200])


def _outcome(over: EpisodeOver, score: Score) -> Outcome:
    if over.reason == "infra" or score.verdict == "error" or score.value is None:
        return Outcome.INFRA
    if score.verdict == "correct" and score.value >= 1:
        return Outcome.SOLVED
    return Outcome.TRUNCATED if over.reason in CUT_SHORT else Outcome.FAILED
