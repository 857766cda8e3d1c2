"""What `[distill]` says of review is what reviews."""

from evener.adapt import adapted
from evener.agents.harness.load import load
from evener.agents.models.scripted import ScriptedModel
from evener.agents.reviewers import ActionSpace
from evener.config import DistillConfig
from evener.environments.storefront import Storefront
from evener.environments.storefront.action import ACTIONS
from evener.reviewing import choose_reviewer

FLAGGED = DistillConfig(review="flagged")


async def test_each_setting_of_review_makes_another_reviewer() -> None:
    desk = Storefront()
    optimized, target = (load(desk.harness_path(name)) for name in ("optimized", "target"))
    knowledge = (await adapted(optimized, target, environment=desk)).knowledge
    base, space = ScriptedModel([]), ActionSpace(target, ACTIONS)
    settings = (
        DistillConfig(),
        FLAGGED,
        FLAGGED.model_copy(update={"threshold": -1.0}),
        FLAGGED.model_copy(update={"most_replaced": 1}),
        FLAGGED.model_copy(update={"most_replaced": 2}),
    )
    digests = {
        choose_reviewer(one, base, optimized, knowledge, space, reader=base).digest
        for one in settings
    }
    assert len(digests) == len(settings)
