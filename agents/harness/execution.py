"""A call carried out: resolved, held against the hooks, executed, told.

A call that does not fit is refused and executes nothing. A composite executes its steps one after
the other and stops at the first that fails.
"""

import asyncio

from evener.agents.harness import observation
from evener.agents.harness.answer import Answers, attempt, blocked
from evener.agents.harness.episode import Episode
from evener.agents.harness.hooks.effect import HookState, Repeat
from evener.agents.harness.schema import Arguments
from evener.agents.harness.tool import Resolved, action_call, step_call
from evener.protocols.digest import canonical
from evener.protocols.error import HarnessError
from evener.protocols.event import Acted, CallRefused, OutputCut
from evener.protocols.message import Call
from evener.protocols.port import Observation


async def make_call(episode: Episode, written: Call, answers: Answers) -> None:
    """Carry out one call as the student wrote it. Raises EpisodeOver where a hook ends it."""
    offered = episode.opening.offered
    resolved = episode.runtime.toolbox.resolve(written, offered, turn=episode.turn)
    if isinstance(resolved, CallRefused):
        _refuse(episode, resolved, answers)
        return
    for event in resolved.mended:
        episode.log(event)
        episode.activate(_part(resolved.tool.name, event.argument, event.rule), event.rule)
    call = resolved.call
    instead = attempt(episode, _signature(call), call=call, resolved=resolved)
    if instead is None and resolved.tool.ends(episode.actions):
        instead = blocked(episode.ask_hooks(HookState(stage="before_finish", call=call)))
    if instead is not None:
        answers.add(call, instead)
        return
    await _execute(episode, resolved, answers)


def _refuse(episode: Episode, refused: CallRefused, answers: Answers) -> None:
    episode.log(refused)
    answers.add(refused.call, refused.detail)
    instead = attempt(episode, _signature(refused.call), call=refused.call)
    if instead is not None:
        answers.add(None, instead)
    after = HookState(stage="after_tool", call=refused.call, refused=True)
    answers.remind(episode.ask_hooks(after))


async def _execute(episode: Episode, resolved: Resolved, answers: Answers) -> None:
    tool, call = resolved.tool, resolved.call
    steps = tool.tool.steps
    if steps is None:
        await _perform(episode, resolved, action_call(tool, call), answers, last=True)
        return
    episode.activate(f"tools[{tool.name}].steps")
    result: str | None = None
    for index, step in enumerate(steps):
        where = f"tools[{tool.name}].steps[{index}].arguments"
        schema = Arguments(episode.actions[step.action].parameters)
        try:
            made = step_call(step, call, result, schema, where=where)
        except HarnessError as error:
            detail = f"{tool.name} could not go on: {error.what}."
            refused = CallRefused(turn=episode.turn, call=call, reason="wrong_value", detail=detail)
            episode.log(refused)
            answers.add(call, detail)
            return
        last = index == len(steps) - 1
        seen = await _perform(episode, resolved, made, answers, last=last)
        if seen.error_kind is not None or seen.done:
            return
        result = seen.text


async def _perform(
    episode: Episode, resolved: Resolved, call: Call, answers: Answers, *, last: bool
) -> Observation:
    """Execute one action, again where a hook says so. The student is told of the last step of a
    composite, or of the one that failed."""
    tried = 0
    while True:
        tried += 1
        seen = await episode.act(call, timeout_s=resolved.tool.tool.timeout_s)
        text = observation.safe(seen.text)
        seen = seen.model_copy(update={"text": observation.kept(text)})
        tell = last or seen.error_kind is not None or seen.done
        place = len(episode.events)
        effects = episode.ask_hooks(
            HookState(
                stage="after_tool",
                call=resolved.call,
                action_call=call,
                error_kind=seen.error_kind,
                attempt=tried,
            )
        )
        repeat = next((effect for effect in effects if isinstance(effect, Repeat)), None)
        acted = Acted(
            turn=episode.turn,
            tool=resolved.tool.name,
            call=call,
            observation=seen.text,
            error_kind=seen.error_kind,
            elapsed=seen.elapsed,
            truncated=seen.truncated or len(text) > len(seen.text),
            done=seen.done,
            message=answers.place if tell and repeat is None else None,
        )
        # an action comes before the hooks that look at it
        episode.events.insert(place, acted)
        if repeat is None:
            break
        await asyncio.sleep(repeat.delay)
    answers.executed += 1
    answers.done = seen.done
    episode.called.add(resolved.tool.name)
    if seen.error_kind is None and not seen.done:
        episode.last_result = seen.text
    if tell:
        answers.add(resolved.call, _shown(episode, resolved.tool.name, text, seen))
        answers.remind(effects)
    return seen


def _shown(episode: Episode, tool: str, text: str, seen: Observation) -> str:
    """The observation as the student reads it."""
    tokens = episode.runtime.harness.middleware.context.tool_output_tokens
    shown = observation.shown(text, seen.error_kind, tokens)
    limit = tokens * observation.CHARACTERS_A_TOKEN
    if len(text) > limit:
        episode.activate("middleware.context.tool_output_tokens")
        episode.log(OutputCut(turn=episode.turn, tool=tool, before=len(text), after=limit))
    return shown


def _part(tool: str, argument: str, rule: str) -> str:
    """The field path of what mended a call."""
    if rule == "type":
        return f"tools[{tool}].parameters"
    return f"tools[{tool}].arguments.{argument}" if argument else f"tools[{tool}].aliases"


def _signature(call: Call) -> str:
    return f"call {call.name} {canonical(call.arguments)}"
