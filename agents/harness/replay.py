"""A recorded episode seen again under any harness: what the student would have been shown at each
turn, and what it said. Training rows are made of these views.

Under the episode's own harness the contexts are exactly what the model was shown. Under another the
opening, the protocol, the cut of outputs and the window are that harness's; the student's own words
stay as they were sampled where the protocol is the same.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from evener.agents.harness import render
from evener.agents.harness.context import Account
from evener.agents.harness.parse import read_reply
from evener.agents.harness.retold import retold
from evener.agents.harness.runtime import Opening, Runtime, prepare
from evener.protocols.digest import Wire
from evener.protocols.event import Acted, CallRefused, Event, Parsed, ParseFailed, Replied
from evener.protocols.harness import Harness
from evener.protocols.message import Call, Message
from evener.protocols.model import Reply
from evener.protocols.trajectory import Trajectory

ServingFault: TypeAlias = Literal["not_readable", "unknown_tool", "not_offered", "bad_arguments"]
TOLD: tuple[str, ...] = ("observation", "hook")


class View(Wire):
    """One turn: what was shown, and the reply to it. `fault` says why the serving harness could not
    have executed the reply, None where it could. Token ids are kept where the text is as sampled.
    """

    turn: int
    context: tuple[Message, ...]
    response: Message
    fault: ServingFault | None = None
    detail: str = ""


def views(harness: Harness, trajectory: Trajectory) -> tuple[View, ...]:
    """The turns of an episode as `harness` would have shown them, in order.

    Raises HarnessError where the harness cannot be rendered.
    """
    runtime = prepare(harness)
    recording = _Recording(trajectory)
    notes = runtime.recalled(trajectory.task.prompt)
    account = Account()
    called: set[str] = set()
    made: list[View] = []
    opening = runtime.opening(trajectory.task.prompt, called=called, notes=notes)
    account.open(opening.messages)
    for message in recording.screen:
        account.screen(message)
    for replied in recording.replies:
        fresh = runtime.opening(trajectory.task.prompt, called=called, notes=notes)
        if fresh.skills != opening.skills:
            opening = fresh
            account.open(opening.messages)
        events = recording.events(replied.turn)
        shown = account.show(harness.middleware.context)
        context = tuple(account.messages[index] for index in shown.indices)
        response = _response(runtime, recording, replied, events)
        fault, detail = _fault(runtime, opening, trajectory, replied, response)
        made.append(
            View(turn=replied.turn, context=context, response=response, fault=fault, detail=detail)
        )
        account.reply(response)
        account.answer(_answers(runtime, opening, recording, replied, events))
        called.update(event.tool for event in events if isinstance(event, Acted))
    return tuple(made)


class _Recording:
    """A trajectory by turn, and what is known of the harness it was made under."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.replies = tuple(e for e in trajectory.events if isinstance(e, Replied))
        self._by_turn: dict[int, list[Event]] = {}
        for event in trajectory.events:
            self._by_turn.setdefault(event.turn, []).append(event)
        first = self.replies[0].message if self.replies else len(trajectory.messages)
        self.screen = tuple(m for m in trajectory.messages[:first] if m.origin in TOLD)
        self.format = _format(trajectory)

    def events(self, turn: int) -> Sequence[Event]:
        """The events of one turn."""
        return self._by_turn.get(turn, [])

    def told(self, replied: Replied) -> tuple[Message, ...]:
        """What the student was told after a reply, up to its next."""
        after = self.trajectory.messages[replied.message + 1 :]
        told: list[Message] = []
        for message in after:
            if message.sampled:
                break
            if message.origin in TOLD:
                told.append(message)
        return tuple(told)


def _response(
    runtime: Runtime, recording: _Recording, replied: Replied, events: Sequence[Event]
) -> Message:
    """The recorded reply; its calls written anew where the protocol is another."""
    recorded = recording.trajectory.messages[replied.message]
    calls = _calls(events)
    form = runtime.harness.middleware.protocol.format
    if not calls or recording.format in (None, form):
        return recorded
    native = form == "native"
    texts = [render.call_text(runtime.harness, call.name, call.arguments) for call in calls]
    return recorded.model_copy(
        update={
            "content": "\n".join(text for text in texts if text),
            "calls": calls if native else (),
            "token_ids": None,
        }
    )


def _fault(
    runtime: Runtime,
    opening: Opening,
    trajectory: Trajectory,
    replied: Replied,
    response: Message,
) -> tuple[ServingFault | None, str]:
    """Why the serving harness could not have executed a response."""
    reply = Reply(
        text=response.content,
        calls=response.calls,
        stop_reason=replied.stop_reason,
        model=trajectory.model,
    )
    reading = read_reply(reply, runtime.harness, opening.offered, turn=replied.turn)
    repairs = any(name == "repair_call" for name, _ in runtime.hooks["after_model"])
    if isinstance(reading, ParseFailed) and repairs:
        reading = read_reply(
            reply, runtime.harness, opening.offered, turn=replied.turn, strict=False
        )
    if isinstance(reading, ParseFailed):
        return "not_readable", f"{reading.fault}: {reading.detail}"
    for call in reading.calls:
        resolved = runtime.toolbox.resolve(call, opening.offered, turn=replied.turn)
        if isinstance(resolved, CallRefused):
            reason = resolved.reason
            if reason == "unknown_tool" or reason == "not_offered":
                return reason, resolved.detail
            return "bad_arguments", resolved.detail
    return None, ""


def _answers(
    runtime: Runtime,
    opening: Opening,
    recording: _Recording,
    replied: Replied,
    events: Sequence[Event],
) -> tuple[Message, ...]:
    """What the student was told: as recorded, or put anew from the events for another harness."""
    recorded = recording.told(replied)
    if runtime.digest == recording.trajectory.key.harness:
        return recorded
    reply = recording.trajectory.messages[replied.message].content
    told = retold(runtime.harness, events, offered=opening.offered, reply=reply)
    hook_only = bool(recorded) and all(message.origin == "hook" for message in recorded)
    return render.results(runtime.harness, told, hook_only=hook_only)


def _format(trajectory: Trajectory) -> str | None:
    """The protocol of a recording, which shows in how results were told; None without any."""
    for event in trajectory.events:
        if isinstance(event, Acted) and event.message is not None:
            told = trajectory.messages[event.message]
            if told.role == "tool":
                return "native"
            return "hermes" if told.content.startswith("<tool_result>") else "json"
    return None


def _calls(events: Sequence[Event]) -> tuple[Call, ...]:
    return tuple(call for event in events if isinstance(event, Parsed) for call in event.calls)
