"""Test support: an OpenAI-compatible server on this machine that fails as it is told to."""

from evener.agents.models.remote.faults.answer import Answer, Answered, words
from evener.agents.models.remote.faults.books import Books
from evener.agents.models.remote.faults.fault import (
    FAULTS,
    Fault,
    FaultKind,
    Script,
    scripted,
    seeded,
)
from evener.agents.models.remote.faults.server import FaultServer

__all__ = [
    "FAULTS",
    "Answer",
    "Answered",
    "Books",
    "Fault",
    "FaultKind",
    "FaultServer",
    "Script",
    "scripted",
    "seeded",
    "words",
]
