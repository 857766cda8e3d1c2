"""The harness files that ship: they load, fit the desk, and repeat nothing of any task."""

import re

import pytest

from evener.agents.harness.check import check
from evener.agents.harness.load import load
from evener.agents.harness.skill import active
from evener.environments.storefront import HARNESSES, Storefront, harness_path
from evener.environments.storefront.action import ACTIONS
from evener.environments.storefront.example import examples
from evener.environments.storefront.pool import PARTS, POOLS
from evener.protocols.error import ConfigError
from evener.protocols.harness import Harness
from evener.protocols.port import Equipped
from evener.protocols.task import Split

SHOP = Storefront()


def shipped(name: str) -> Harness:
    return load(harness_path(name))


def test_the_desk_names_its_harnesses_and_no_others() -> None:
    assert isinstance(SHOP, Equipped)
    assert SHOP.harness_path("seed") == harness_path("seed")
    for name in ("best", "../seed", "seed.yaml", ""):
        with pytest.raises(ConfigError, match="ships seed, hand, target, optimized"):
            harness_path(name)


@pytest.mark.parametrize("name", HARNESSES)
def test_a_harness_fits_the_desk(name: str) -> None:
    harness = shipped(name)
    check(harness, ACTIONS)
    assert harness.name == f"storefront-{name}"
    assert harness.middleware.loop.max_turns == 6
    assert 40 <= harness.middleware.loop.max_reply_tokens <= 48
    actions = {spec.name: spec for spec in ACTIONS}
    for tool in harness.tools:
        if tool.action is not None:
            assert tool.parameters == actions[tool.action].parameters


@pytest.mark.parametrize("name", HARNESSES)
def test_every_example_is_the_documentations(name: str) -> None:
    harness = shipped(name)
    documented = {example.turns[0].content: example.turns for example in examples()}
    shown = [*harness.prompt.examples, *(e for skill in harness.skills for e in skill.examples)]
    assert shown
    for example in shown:
        turns = documented[example[0].content]
        assert example[-1] == turns[-1]
        if name != "optimized":
            assert example == turns


@pytest.mark.parametrize("name", HARNESSES)
def test_no_name_and_no_item_of_a_split_is_in_the_file(name: str) -> None:
    said = set(re.findall(r"\w+", harness_path(name).read_text(encoding="utf-8").lower()))
    for part in PARTS:
        if part != "example":
            pool = POOLS[part]
            taken = {*map(str.lower, pool.names), *pool.nouns, *(f"{n}s" for n in pool.nouns)}
            assert said.isdisjoint(taken)


@pytest.mark.parametrize("name", ["hand", "optimized"])
def test_each_kind_wakes_its_own_skill_and_no_other(name: str) -> None:
    harness = shipped(name)
    for split in (Split.MINE, Split.TEST, Split.OOD):
        for task in SHOP.tasks(split, count=300, seed=8):
            names = [skill.name for skill in active(harness.skills, task.prompt)]
            assert names == [task.kind], task.prompt


def test_the_seed_shows_word_problems_alone() -> None:
    harness = shipped("seed")
    kinds = {example.turns[0].content: example.kind for example in examples()}
    assert [kinds[example[0].content] for example in harness.prompt.examples] == ["calc"] * 3
    for example, operator in zip(harness.prompt.examples, "*+-", strict=True):
        assert example[1].call is not None
        assert operator in str(example[1].call.arguments["expression"])
    assert harness.middleware.protocol.strict
    assert not harness.skills
