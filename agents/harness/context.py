"""What of an episode the model is shown: the opening always, then the newest whole turns that fit.

Rollout and replay use this one account of messages, so that training rows are rendered as the
student was served. A reply and the results of its calls are one turn and are never split.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from evener.agents.harness.observation import CHARACTERS_A_TOKEN
from evener.protocols.digest import canonical
from evener.protocols.harness import Context
from evener.protocols.message import Message


def characters(message: Message) -> int:
    """What a message weighs; 4 characters are taken for a token."""
    calls = sum(len(call.name) + len(canonical(call.arguments)) for call in message.calls)
    return len(message.content) + calls


@dataclass(frozen=True)
class Shown:
    """Indices of the messages shown, of those left out, and the estimate before the cut."""

    indices: tuple[int, ...]
    dropped: tuple[int, ...]
    tokens: int


class Account:
    """All messages of an episode in the order they came to be, and which belong together."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._opening: tuple[int, ...] = ()
        self._first_screen: list[int] = []
        self._turns: list[list[int]] = []

    def open(self, opening: Sequence[Message]) -> None:
        """Set the opening. Messages that stood in the opening before are not added again."""
        standing = list(self._opening)
        indices: list[int] = []
        for message in opening:
            index = next((i for i in standing if self.messages[i] == message), None)
            if index is None:
                index = self._add(message)
            else:
                standing.remove(index)
            indices.append(index)
        self._opening = tuple(indices)

    def screen(self, message: Message) -> None:
        """Add what the environment shows before the first turn; it stays like the opening."""
        self._first_screen.append(self._add(message))

    def reply(self, message: Message) -> int:
        """Add a reply, which begins a turn; returns its index."""
        index = self._add(message)
        self._turns.append([index])
        return index

    def reword(self, message: Message) -> None:
        """Put another message in the place of the last reply."""
        self.messages[self._turns[-1][0]] = message

    def answer(self, messages: Sequence[Message]) -> None:
        """Add what the student was told after its last reply."""
        self._turns[-1].extend(self._add(message) for message in messages)

    def show(self, context: Context) -> Shown:
        """What the model is shown now."""
        fixed = [*self._opening, *self._first_screen]
        weights = [sum(characters(self.messages[i]) for i in turn) for turn in self._turns]
        base = sum(characters(self.messages[i]) for i in fixed)
        total = base + sum(weights)
        first = 0
        if context.policy == "window":
            room = context.keep_tokens * CHARACTERS_A_TOKEN - base
            first = len(self._turns)
            while first and (room := room - weights[first - 1]) >= 0:
                first -= 1
        kept = [index for turn in self._turns[first:] for index in turn]
        dropped = [index for turn in self._turns[:first] for index in turn]
        tokens = -(-total // CHARACTERS_A_TOKEN)
        return Shown((*fixed, *kept), tuple(dropped), tokens)

    def _add(self, message: Message) -> int:
        self.messages.append(message)
        return len(self.messages) - 1
