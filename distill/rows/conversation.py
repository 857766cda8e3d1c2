"""Accepted episodes as conversations, for a student whose tokens and template are out of reach.

Each message says who speaks; each of the student's says whether it carries the loss (`weight` 1) or
not (0). What is shown at a turn stands before its reply exactly as the serving harness shows it.
"""

import json
from collections import Counter
from collections.abc import Sequence

from evener.agents.harness.replay import View
from evener.distill.rows.marker import Markers
from evener.distill.rows.reasoning import thought_fault
from evener.distill.rows.taught import Lessons, Refused
from evener.protocols.digest import JsonObject, Wire
from evener.protocols.error import DataError
from evener.protocols.harness import Harness
from evener.protocols.message import Message
from evener.protocols.trajectory import Trajectory


class Conversation(Wire):
    """Messages of one episode; those at the indices `taught` carry the loss."""

    task: str
    kind: str
    trajectory: str
    messages: tuple[Message, ...]
    taught: tuple[int, ...]

    def line(self) -> str:
        """The row as a line of JSON for other programs, in ASCII alone."""
        row: JsonObject = {
            "task": self.task,
            "kind": self.kind,
            "trajectory": self.trajectory,
            "messages": [self._said(at, message) for at, message in enumerate(self.messages)],
        }
        return json.dumps(row, sort_keys=True) + "\n"

    def _said(self, at: int, message: Message) -> JsonObject:
        said: JsonObject = {"role": message.role, "content": message.content}
        if message.role == "assistant":
            said["weight"] = int(at in self.taught)
        return said


class ConversationSet(Wire):
    """Rows to train on; `refused` and `untrained` count as for rows of tokens."""

    rows: tuple[Conversation, ...]
    refused: dict[str, int] = {}
    untrained: dict[str, int] = {}


def build_conversations(
    episodes: Sequence[Trajectory], harness: Harness, *, markers: Markers | None = None
) -> ConversationSet:
    """The conversations of accepted episodes as `harness` would have shown them, without any in
    which one of `markers` stands. Raises DataError for a harness whose calls are no text."""
    if harness.middleware.protocol.format == "native":
        raise DataError(
            "rows cannot be drawn for the native protocol: its calls are no text",
            where=f"harness {harness.name}, middleware.protocol.format",
            remedy="train under a harness whose protocol is json or hermes",
        )
    lessons = Lessons(harness, markers or Markers())
    refused: Counter[str] = Counter()
    rows: dict[str, Conversation] = {}
    for episode in episodes:
        try:
            taught = lessons.of(episode)
            for view in taught:
                _check(lessons, view)
        except Refused as refusal:
            refused[str(refusal)] += 1
            continue
        if not taught:
            refused["no_trainable_token"] += 1
        for messages, indices in joined(taught):
            row = Conversation(
                task=episode.task.id,
                kind=episode.task.kind,
                trajectory=episode.id,
                messages=messages,
                taught=indices,
            )
            content = row.model_copy(update={"task": "", "kind": "", "trajectory": ""}).line()
            if content in rows:
                refused["duplicate"] += 1
            else:
                rows[content] = row
    return ConversationSet(
        rows=tuple(rows.values()), refused=dict(refused), untrained=dict(lessons.untrained)
    )


def joined(taught: Sequence[View]) -> list[tuple[tuple[Message, ...], tuple[int, ...]]]:
    """Turns → conversations. A turn that is shown all of the conversation so far goes on with it;
    any other, where a window slid, say, begins one."""
    made: list[tuple[tuple[Message, ...], tuple[int, ...]]] = []
    for view in taught:
        messages = (*view.context, view.response)
        at = len(view.context)
        before, indices = made[-1] if made else ((), ())
        if made and at >= len(before) and _same(before, messages):
            made[-1] = (messages, (*indices, at))
        else:
            made.append((messages, (at,)))
    return made


def _same(before: Sequence[Message], messages: Sequence[Message]) -> bool:
    """Whether these messages begin with those, as a model sees them."""
    return all(
        (a.role, a.content) == (b.role, b.content) for a, b in zip(before, messages, strict=False)
    )


def _check(lessons: Lessons, view: View) -> None:
    """Refuse a reply that no student should learn to write. A loss on half of a message cannot be
    told to a trainer, so that one in which a reviewer speaks is refused whole."""
    said = view.response.content
    if view.response.origin == "reviewer" and lessons.private.voiced(said):
        raise Refused("private_marker")
    if thought_fault(said) is not None:
        raise Refused("misplaced_thoughts")
