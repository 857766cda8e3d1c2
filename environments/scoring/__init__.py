"""Is a written answer the gold answer? Three layers, the last in a process that is killed."""

from evener.environments.scoring.box import Found, boxed
from evener.environments.scoring.checker import Checker, Judgement, unanswered
from evener.environments.scoring.figure import Figure, avg_at_k, maj_at_k
from evener.environments.scoring.normal import written
from evener.environments.scoring.vote import Candidate, candidates, majority

__all__ = [
    "Candidate",
    "Checker",
    "Figure",
    "Found",
    "Judgement",
    "avg_at_k",
    "boxed",
    "candidates",
    "maj_at_k",
    "majority",
    "unanswered",
    "written",
]
