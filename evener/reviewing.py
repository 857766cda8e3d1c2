"""The reviewer that a configuration names, on the student's own base."""

from evener.agents.reviewers import (
    ActionSpace,
    Flagged,
    ModelReviewer,
    OwnReviewer,
    PassThrough,
    RecipeReviewer,
)
from evener.config import DistillConfig
from evener.protocols.harness import Harness
from evener.protocols.knowledge import Knowledge
from evener.protocols.port import Model, Reviewer


def choose_reviewer(
    settings: DistillConfig,
    base: Model,
    optimized: Harness,
    knowledge: Knowledge,
    space: ActionSpace,
) -> Reviewer:
    """Who reviews, called always or only where something flags a response."""
    reviewer = _reviewer(settings, base, optimized, knowledge, space)
    if settings.review == "always" or settings.reviewer == "passthrough":
        return reviewer
    return Flagged(reviewer, knowledge, space, threshold=settings.threshold)


def _reviewer(
    settings: DistillConfig,
    base: Model,
    optimized: Harness,
    knowledge: Knowledge,
    space: ActionSpace,
) -> Reviewer:
    match settings.reviewer:
        case "own":
            return OwnReviewer(base, optimized, knowledge, space)
        case "recipe":
            return RecipeReviewer(knowledge, space)
        case "model":
            return ModelReviewer(base, knowledge, space)
        case "passthrough":
            return PassThrough()


def emptied(knowledge: Knowledge) -> Knowledge:
    """K without an entry: what a reviewer makes of the target's tools alone."""
    return knowledge.model_copy(
        update={
            "name": f"{knowledge.name}-empty",
            "recipes": (),
            "hints": (),
            "guidance": (),
            "patterns": (),
        }
    )
