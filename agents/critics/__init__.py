"""Critics: from failed mining episodes to attributions, and from these to patches on offer."""

from evener.agents.critics.aggregate import edits_digest
from evener.agents.critics.model import ModelCritic
from evener.agents.critics.random import RandomCritic
from evener.agents.critics.rule import RuleCritic

__all__ = ["ModelCritic", "RandomCritic", "RuleCritic", "edits_digest"]
