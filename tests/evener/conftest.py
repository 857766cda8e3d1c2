"""A scripted clerk at the storefront: it can do what the examples in its prompt show, no more."""

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest

from evener.agents.models.scripted import ScriptedModel
from evener.agents.plan import Evaluation, Plan, Search, Training, Trials
from evener.config import GateConfig, HarnessConfig, RunConfig
from evener.environments.storefront import Storefront
from evener.protocols.model import Request
from evener.protocols.task import Split, Task

WRONG = json.dumps({"name": "final", "arguments": {"answer": -1}})


class Desk(Storefront):
    """The storefront, which remembers what it asked so that the clerk can be scripted."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: dict[str, Task] = {}

    def tasks(self, split: Split, *, count: int, seed: int) -> Sequence[Task]:
        drawn = super().tasks(split, count=count, seed=seed)
        self.asked |= {task.prompt: task for task in drawn}
        return drawn


def clerk(desk: Desk) -> ScriptedModel:
    """Follows the right plan where the prompt's examples use its tools, else answers −1."""

    def reply(request: Request) -> str:
        at = max(i for i, m in enumerate(request.messages) if m.content in desk.asked)
        shown = {
            json.loads(m.content)["name"]
            for m in request.messages[:at]
            if m.role == "assistant" and m.content.startswith("{")
        }
        plan = desk.gold(desk.asked[request.messages[at].content])
        if not {call.name for call in plan} <= shown:
            return WRONG
        step = sum(m.role == "assistant" for m in request.messages[at:])
        call = plan[min(step, len(plan) - 1)]
        return json.dumps({"name": call.name, "arguments": call.arguments})

    return ScriptedModel(reply, name="clerk")


@pytest.fixture
def new_desk() -> type[Desk]:
    return Desk


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def hire() -> Callable[[Desk], ScriptedModel]:
    """The clerk of a desk."""
    return clerk


class Support(NamedTuple):
    new_desk: type[Desk]
    clerk: Callable[[Desk], ScriptedModel]
    small_config: Callable[[], RunConfig]


@pytest.fixture(scope="session")
def support() -> Support:
    """For fixtures of a wider scope."""
    return Support(Desk, clerk, small_config)


@pytest.fixture
def config() -> RunConfig:
    return small_config()


def small_config() -> RunConfig:
    return RunConfig(
        harness=HarnessConfig(start="seed", arms={"hand": "hand"}),
        gate=GateConfig(schedule="small"),
        plan=Plan(
            rounds=1,
            search=Search(iterations=2, mine_tasks=18, race_tasks=3, proposals=8),
            trials=Trials(rollouts=200, temperature=0.3),
            training=Training(method="none"),
            evaluation=Evaluation(test_tasks=12, ood_tasks=3),
        ),
    )
