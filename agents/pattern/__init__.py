"""Failure patterns: deterministic predicates over a trajectory's events.

They are computed from public things only: events, messages, the task's prompt and kind, the
harness, and what the environment publishes. Never the answer, so any split may be looked at.
"""

from evener.agents.pattern.background import Background, published
from evener.agents.pattern.finding import Case, Finding, head
from evener.agents.pattern.signature import shows, signatures
from evener.agents.pattern.slipping import AGENT_ERROR

__all__ = [
    "AGENT_ERROR",
    "Background",
    "Case",
    "Finding",
    "head",
    "published",
    "shows",
    "signatures",
]
