"""The embedded student at the desk: what the shipped harnesses are worth before any training."""

import asyncio
from collections import Counter

import pytest

from evener.agents.harness.load import load
from evener.agents.harness.loop import run_episode
from evener.agents.models.local.engine import LocalEngine
from evener.agents.models.local.resolve import resolve
from evener.environments.storefront import Storefront, harness_path
from evener.protocols.port import Model
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Trajectory, prompt_digest

SHOP = Storefront()


async def episode(task: Task, name: str, model: Model) -> Trajectory:
    harness = load(harness_path(name))
    key = EpisodeKey(
        task=task.id,
        prompt_digest=prompt_digest(task),
        harness=harness.digest(),
        model=model.ref.revision,
        purpose=Purpose.EVALUATE,
        seed=0,
    )
    session = await SHOP.open(task, seed=0)
    try:
        return await run_episode(session, task, harness, model, key=key, sampling_seed=0)
    finally:
        await session.close()


@pytest.mark.slow
@pytest.mark.timeout(1200)
async def test_the_seed_leaves_most_to_do_and_the_hand_made_harness_does_half_but_no_bill() -> None:
    model = LocalEngine(resolve("embedded"), threads=1)
    tasks = SHOP.tasks(Split.TEST, count=60, seed=404)
    try:
        seed = await asyncio.gather(*(episode(task, "seed", model) for task in tasks))
        hand = await asyncio.gather(*(episode(task, "hand", model) for task in tasks))
    finally:
        await model.close()
    by_seed, by_hand = (
        Counter(run.task.kind for run in each if run.solved) for each in (seed, hand)
    )
    assert 9 <= by_seed["calc"] <= 15
    assert by_seed["price"] + by_seed["convert"] + by_seed["bill"] <= 1
    assert sum(not any(e.kind == "parse_failed" for e in run.events) for run in seed) >= 42
    assert by_hand["calc"] + by_hand["price"] + by_hand["convert"] >= 30
    assert by_hand["bill"] <= 2
    for runs in (seed, hand):
        assert sum(run.usage.calls for run in runs) <= 4 * len(runs)
