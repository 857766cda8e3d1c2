"""What the log says of one call: every attempt, how long it waited, what it cost, how it ended."""

from typing import Literal, TypeAlias

from evener.agents.models.remote.outcome import FaultKind
from evener.protocols.digest import JsonObject, Wire

Ending: TypeAlias = FaultKind | Literal["answered", "cancelled"]

CALL = "provider_call"
"""The kind of its log entries."""


class Attempt(Wire):
    """One request. `waited` seconds passed before it; tokens and cost are None where unknown."""

    outcome: Ending
    status: int | None = None
    waited: float = 0.0
    seconds: float = 0.0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None


class CallRecord(Wire):
    """One call of a role: its attempts in order, the last of which is what came of it."""

    role: str
    model: str
    attempts: tuple[Attempt, ...]

    def body(self) -> JsonObject:
        """As a log entry's body."""
        return self.document()
