"""Is a written answer the gold answer? Three layers, the last in a process that is killed."""

from evener.environments.scoring.box import Found, boxed
from evener.environments.scoring.checker import Checker, Judgement, unanswered

__all__ = ["Checker", "Found", "Judgement", "boxed", "unanswered"]
