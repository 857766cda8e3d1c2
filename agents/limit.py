"""Loops end: how long a chain of causes may be, and how many messages one root may cause.

Both are counted from the root, whoever takes part, so that a round of three peers is caught like
a ping-pong of two.
"""

from dataclasses import dataclass

from evener.agents.envelope import Cause
from evener.agents.fault import HopLimit, MessageLimit


@dataclass(frozen=True)
class Limits:
    """`hops` bounds a chain, `messages` all that one message from outside causes (None: none)."""

    hops: int
    messages: int | None = None

    def check(self, cause: Cause) -> None:
        """Raises HopLimit, with the cycle, or MessageLimit."""
        if cause.hop > self.hops:
            names = cycle(cause)
            raise HopLimit(
                f"hop_limit: {cause.type} from {cause.sender!r} would be hop {cause.hop} "
                f"of one chain of causes (limit {self.hops}), which goes round: "
                f"{' → '.join([*names, names[0]])}",
                cycle=names,
            )
        if self.messages is not None and cause.root.messages > self.messages:
            raise MessageLimit(
                f"message_limit: one call from outside caused more than {self.messages} "
                f"messages; the last is {cause.type} from {cause.sender!r} to {cause.to!r}"
            )


def cycle(last: Cause) -> tuple[str, ...]:
    """The peers at the end of a chain that go round, shortest round first; all where none do."""
    names = [link.to for link in last.chain()]
    for length in range(1, len(names) // 2 + 1):
        if names[-length:] == names[-2 * length : -length]:
            return tuple(names[-length:])
    return tuple(names)
