"""The reviewer that a configuration names."""

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
    *,
    reader: Model,
) -> Reviewer:
    """Who reviews, called always or only where something flags a response. `base` is the student's
    base, `reader` the model that reads K where the reviewer is a `model`."""
    reviewer = _reviewer(settings, base, optimized, knowledge, space, reader)
    if settings.review == "always" or settings.reviewer == "passthrough":
        return reviewer
    return Flagged(
        reviewer,
        knowledge,
        space,
        threshold=settings.threshold,
        most_replaced=settings.most_replaced,
    )


def _reviewer(
    settings: DistillConfig,
    base: Model,
    optimized: Harness,
    knowledge: Knowledge,
    space: ActionSpace,
    reader: Model,
) -> Reviewer:
    match settings.reviewer:
        case "own":
            return OwnReviewer(base, optimized, knowledge, space)
        case "recipe":
            return RecipeReviewer(knowledge, space)
        case "model":
            return ModelReviewer(reader, knowledge, space)
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
