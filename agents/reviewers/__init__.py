"""Who may review a response before it is executed; see docs/harness-zero.md, "Review"."""

from evener.agents.reviewers.flagged import Flagged
from evener.agents.reviewers.model import ModelReviewer
from evener.agents.reviewers.own import OwnReviewer
from evener.agents.reviewers.passthrough import PassThrough
from evener.agents.reviewers.recipe import RecipeReviewer
from evener.agents.reviewers.space import ActionSpace

__all__ = [
    "ActionSpace",
    "Flagged",
    "ModelReviewer",
    "OwnReviewer",
    "PassThrough",
    "RecipeReviewer",
]
