"""Episodes at the shop desk of a student that says what it is told to, through the real loop."""

from collections.abc import Awaitable, Callable

import pytest
from pydantic import JsonValue

from evener.agents.harness.load import load
from evener.agents.harness.loop import run_episode
from evener.agents.models.scripted import ScriptedModel
from evener.distill.detectors import detectors_of
from evener.environments.storefront import Storefront
from evener.protocols.digest import canonical
from evener.protocols.harness import Harness
from evener.protocols.port import Detector
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Trajectory, prompt_digest

SHOP = Storefront()
Play = Callable[..., Awaitable[Trajectory]]


def call(name: str, **arguments: JsonValue) -> str:
    return canonical({"name": name, "arguments": arguments})


def shipped(name: str) -> Harness:
    return load(SHOP.harness_path(name))


def desk_task(kind: str) -> Task:
    """The first of a kind; of `calc` the first difference, of `convert` the first with plurals in
    s only."""
    tasks = [task for task in SHOP.tasks(Split.TEST, count=40, seed=3) if task.kind == kind]
    odd = ("inch", "feet")
    return next(
        task
        for task in tasks
        if (kind != "calc" or "minus" in task.prompt) and not any(w in task.prompt for w in odd)
    )


async def play_lines(harness: Harness, task: Task, *lines: str) -> Trajectory:
    """The student says the lines, and the last one for ever."""
    said = [*lines]
    student = ScriptedModel(lambda _: said.pop(0) if len(said) > 1 else said[0])
    key = EpisodeKey(
        task=task.id,
        prompt_digest=prompt_digest(task),
        harness=harness.digest(),
        model=student.ref.revision,
        purpose=Purpose.EVALUATE,
        seed=3,
    )
    session = await SHOP.open(task, seed=3)
    try:
        return await run_episode(session, task, harness, student, key=key, sampling_seed=3)
    finally:
        await session.close()


async def play_gold(harness: Harness, task: Task) -> Trajectory:
    """The right solution in the target harness's own actions."""
    gold = [call(step.name, **step.arguments) for step in SHOP.gold(task)]
    return await play_lines(harness, task, *gold)


@pytest.fixture(scope="session")
def target() -> Harness:
    return shipped("target")


@pytest.fixture(scope="session")
def optimized() -> Harness:
    return shipped("optimized")


@pytest.fixture(scope="session")
def detectors(optimized: Harness) -> dict[str, Detector]:
    return {detector.name: detector for detector in detectors_of(optimized, SHOP)}


@pytest.fixture(scope="session")
def shop() -> Storefront:
    return SHOP


@pytest.fixture(scope="session")
def task_of() -> Callable[..., Task]:
    return desk_task


@pytest.fixture(scope="session")
def play() -> Play:
    return play_lines


@pytest.fixture(scope="session")
def gold() -> Play:
    return play_gold
