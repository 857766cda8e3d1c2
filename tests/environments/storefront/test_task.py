"""Tasks without end: stable, stratified, and disjoint between splits by construction."""

import re
from collections import Counter

import pytest

from evener.environments.storefront import Storefront
from evener.environments.storefront.example import EACH, examples
from evener.environments.storefront.gold import solution
from evener.environments.storefront.pool import COLORS, PARTS, POOLS
from evener.environments.storefront.task import recover
from evener.environments.storefront.unit import PAIRS, PLURALS
from evener.environments.storefront.wording import KINDS, OPERATORS
from evener.protocols.error import DataError
from evener.protocols.task import Split, Task

SHOP = Storefront()
MANY = 1200


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


@pytest.fixture(scope="module")
def drawn() -> dict[Split, tuple[Task, ...]]:
    return {split: tuple(SHOP.tasks(split, count=MANY, seed=11)) for split in Split}


def test_a_draw_is_a_function_of_split_count_and_seed(drawn: dict[Split, tuple[Task, ...]]) -> None:
    assert tuple(SHOP.tasks(Split.TEST, count=60, seed=11)) == drawn[Split.TEST][:60]
    other = SHOP.tasks(Split.TEST, count=60, seed=12)
    assert {t.prompt for t in other}.isdisjoint(t.prompt for t in drawn[Split.TEST][:60])


def test_this_very_task_stays_the_same() -> None:
    (task,) = SHOP.tasks(Split.MINE, count=1, seed=0)
    assert task.id == "storefront-mine-0-0"
    assert (
        SHOP.tasks(Split.MINE, count=1, seed=0)[0]
        == Storefront().tasks(Split.MINE, count=1, seed=0)[0]
    )


def test_ids_and_prompts_occur_once(drawn: dict[Split, tuple[Task, ...]]) -> None:
    tasks = [task for split in drawn.values() for task in split]
    assert len({task.id for task in tasks}) == len(tasks)
    assert len({task.prompt for task in tasks}) == len(tasks)
    for split, of_split in drawn.items():
        assert all(task.id.startswith(f"storefront-{split.value}-11-") for task in of_split)


def test_kinds_operators_and_units_are_drawn_evenly(drawn: dict[Split, tuple[Task, ...]]) -> None:
    for tasks in drawn.values():
        assert set(Counter(task.kind for task in tasks).values()) == {MANY // len(KINDS)}
        worlds = [recover(task) for task in tasks[:480]]
        forms = Counter(world.form for world in worlds if world.kind == "calc")
        assert set(forms) == set(OPERATORS)
        assert max(forms.values()) - min(forms.values()) <= 4
        pairs = Counter((w.source, w.target) for w in worlds if w.kind == "convert")
        assert set(pairs) == set(PAIRS)
        assert max(pairs.values()) - min(pairs.values()) <= 4


def test_pools_share_no_name_and_no_item() -> None:
    names = [name for pool in POOLS.values() for name in pool.names]
    nouns = [noun for pool in POOLS.values() for noun in pool.nouns]
    items = [item for pool in POOLS.values() for item in pool.items()]
    assert len(set(names)) == len(names)
    assert len(set(nouns)) == len(nouns)
    assert len(set(items)) == len(items)
    assert not [noun for noun in nouns if noun.endswith(("s", "x", "z", "ch", "sh", "y", "f"))]


def test_splits_and_documentation_share_no_prompt_name_item_or_numbers(
    drawn: dict[Split, tuple[Task, ...]],
) -> None:
    prompts, numbers = ({part: set[object]() for part in PARTS} for _ in range(2))
    for split, tasks in drawn.items():
        for task in tasks:
            world = recover(task)
            prompts[split.value].add(task.prompt)
            numbers[split.value].add(tuple(sorted(world.numbers)))
    for example in examples():
        prompts["example"].add(example.turns[0].content)
        calls = [turn.call for turn in example.turns if turn.call is not None]
        shown = [str(c.arguments.get("expression", c.arguments.get("value", ""))) for c in calls]
        found = [int(n) for text in shown for n in re.findall(r"\d+", text)]
        numbers["example"].add(tuple(sorted(found)))
    own = {part: {*map(str.lower, POOLS[part].names), *POOLS[part].nouns} for part in PARTS}
    for part in PARTS:
        assert prompts[part]
        said = set().union(*(words(str(prompt)) for prompt in prompts[part]))
        for other in PARTS:
            if other != part:
                assert prompts[part].isdisjoint(prompts[other])
                assert numbers[part].isdisjoint(numbers[other])
                plural = {f"{noun}s" for noun in own[other]}
                assert said.isdisjoint(own[other] | plural), f"{part} speaks of {other}"


def test_sentences_of_ood_are_used_nowhere_else(drawn: dict[Split, tuple[Task, ...]]) -> None:
    names = "|".join(name for pool in POOLS.values() for name in pool.names)
    things = "|".join(
        [*(noun for pool in POOLS.values() for noun in pool.nouns), *PLURALS.values(), *COLORS]
    )

    def sentence(prompt: str) -> str:
        return re.sub(rf"\d+|\b({names})\b|\b({things})s?\b", "_", prompt)

    sentences = {split: {sentence(task.prompt) for task in drawn[split]} for split in Split}
    strange = sentences.pop(Split.OOD)
    assert len(strange) >= 8
    for usual in sentences.values():
        assert usual == sentences[Split.MINE]
        assert usual.isdisjoint(strange)


def test_other_seeds_hardly_ever_ask_the_same() -> None:
    prompts = [t.prompt for seed in range(12) for t in SHOP.tasks(Split.MINE, count=300, seed=seed)]
    assert len(prompts) - len(set(prompts)) <= len(prompts) // 200


def test_numbers_have_two_or_three_digits_and_quotients_are_whole(
    drawn: dict[Split, tuple[Task, ...]],
) -> None:
    for tasks in drawn.values():
        for world in map(recover, tasks[:600]):
            assert all(10 <= number <= 999 for number in world.numbers)
            if world.kind != "convert":
                assert world.answer.denominator == 1
            assert world.answer > 0


def test_a_price_stands_in_the_catalogue_and_not_in_the_prompt() -> None:
    for task in SHOP.tasks(Split.MINE, count=120, seed=2)[1::4]:
        world = recover(task)
        assert world.kind == "price"
        assert world.numbers[1] == world.prices[world.item]
        assert len(world.prices) == 8
        assert world.item in task.prompt
        shown = [int(number) for number in re.findall(r"\d+", task.prompt)]
        assert shown == [world.numbers[0]]


@pytest.mark.parametrize("split", list(Split))
def test_a_bill_names_two_items_of_the_catalogue_and_no_number(split: Split) -> None:
    for task in SHOP.tasks(split, count=240, seed=2)[3::4]:
        world = recover(task)
        assert world.kind == "bill"
        assert world.item != world.other
        assert world.numbers == (world.prices[world.item], world.prices[world.other])
        assert world.answer == sum(world.numbers)
        assert len(world.prices) == 8
        assert f"a {world.item} and a {world.other}" in task.prompt
        assert "bill" in task.prompt
        assert not re.search(r"\d", task.prompt)


def test_the_public_task_does_not_hold_the_answer() -> None:
    for task in SHOP.tasks(Split.MINE, count=60, seed=3):
        answer = solution(recover(task))[-1][0].arguments["answer"]
        assert str(answer) not in re.findall(r"[\d.]+\d", task.prompt) or task.kind == "calc"
        assert set(task.document()) == {"id", "split", "kind", "prompt"}


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": "What is 1+1?"},
        {"kind": "price"},
        {"split": Split.MINE},
        {"id": "storefront-test-1-3"},
        {"id": "storefront-test-01-0"},
        {"id": "storefront-test-1-0 "},
        {"id": "storefront-example-0-0"},
        {"id": "nonsense"},
    ],
)
async def test_a_task_that_does_not_match_its_id_is_refused(change: dict[str, object]) -> None:
    (task,) = SHOP.tasks(Split.TEST, count=1, seed=1)
    await SHOP.open(task, seed=0)
    with pytest.raises(DataError, match="not one that this generator makes"):
        await SHOP.open(task.model_copy(update=change), seed=0)


async def test_a_negative_seed_has_tasks_too() -> None:
    tasks = SHOP.tasks(Split.TEST, count=4, seed=-5)
    assert [task.id for task in tasks] == [f"storefront-test--5-{index}" for index in range(4)]
    assert [task.kind for task in tasks] == ["calc", "price", "convert", "bill"]
    await SHOP.open(tasks[0], seed=0)


@pytest.mark.parametrize("count", [0, -3])
def test_an_empty_draw_is_refused(count: int) -> None:
    with pytest.raises(DataError, match="at least one"):
        SHOP.tasks(Split.MINE, count=count, seed=0)


def test_the_documentation_has_examples_of_every_kind_in_turn() -> None:
    kinds = [example.kind for example in examples()]
    assert kinds == [*KINDS] * EACH
    assert EACH == 8
    assert len({example.turns[0].content for example in examples()}) == len(kinds)
    first = [example for example in examples() if example.kind == "calc"][:4]
    shown = [e.turns[1].call.arguments["expression"] for e in first if e.turns[1].call]
    assert {operator for operator in OPERATORS if any(operator in str(s) for s in shown)} == {
        *OPERATORS
    }
