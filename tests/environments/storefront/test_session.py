"""Episodes at the desk: gold scores 1, nothing scores 0, and the desk forgives nothing."""

import asyncio
import inspect
import shutil
from pathlib import Path

import pytest
from pydantic import JsonValue

from evener.environments.storefront import Storefront
from evener.environments.storefront.environment import source_digest
from evener.environments.storefront.example import examples
from evener.environments.storefront.task import recover
from evener.protocols.message import Call
from evener.protocols.port import Auditable, Documented, Environment, Observation, Session
from evener.protocols.task import Split, Task
from evener.protocols.trajectory import Score

SHOP = Storefront()


def price_task() -> Task:
    return SHOP.tasks(Split.TEST, count=2, seed=4)[1]


async def act(session: Session, name: str, **arguments: JsonValue) -> Observation:
    return await session.act(Call(name=name, arguments=arguments))


async def replay(task: Task, calls: tuple[Call, ...]) -> tuple[list[Observation], Score]:
    session = await SHOP.open(task, seed=0)
    seen = [await session.act(call) for call in calls]
    await session.close()
    return seen, await session.score()


def test_it_is_an_environment_with_examples_and_gold() -> None:
    environment: Environment = SHOP
    assert isinstance(environment, Documented)
    assert isinstance(environment, Auditable)


@pytest.mark.parametrize("split", list(Split))
async def test_gold_scores_1(split: Split) -> None:
    for task in SHOP.tasks(split, count=120, seed=5):
        seen, score = await replay(task, SHOP.gold(task))
        assert [observation.error_kind for observation in seen] == [None] * len(seen)
        assert seen[-1].done
        assert not any(observation.done for observation in seen[:-1])
        assert (score.value, score.verdict, score.error_kind) == (1.0, "correct", None), task


async def test_doing_nothing_scores_0() -> None:
    for task in SHOP.tasks(Split.TEST, count=30, seed=5):
        _, score = await replay(task, ())
        assert (score.value, score.verdict, score.error_kind) == (0.0, "incorrect", "no_answer")


async def test_the_kinds_take_these_actions() -> None:
    calls = {task.kind: SHOP.gold(task) for task in SHOP.tasks(Split.TEST, count=4, seed=5)}
    assert {kind: [call.name for call in gold] for kind, gold in calls.items()} == {
        "calc": ["calculator", "final"],
        "price": ["lookup", "calculator", "final"],
        "convert": ["convert", "final"],
        "bill": ["lookup", "lookup", "calculator", "final"],
    }


async def test_the_price_of_one_item_is_no_bill() -> None:
    for task in SHOP.tasks(Split.TEST, count=120, seed=5)[3::4]:
        for price in recover(task).numbers:
            _, score = await replay(task, (Call(name="final", arguments={"answer": price}),))
            assert score.value == 0.0


async def test_gold_without_its_last_step_scores_0() -> None:
    for task in SHOP.tasks(Split.TEST, count=30, seed=5):
        _, score = await replay(task, SHOP.gold(task)[:-1])
        assert score.value == 0.0


async def test_the_documentation_shows_what_the_desk_answers() -> None:
    """The example's calls, replayed in a world with its prices, are answered as it says."""
    for example in examples():
        waiting: str | None = None
        for turn in example.turns[1:]:
            if turn.call is not None and turn.call.name in ("calculator", "convert"):
                session = await SHOP.open(price_task(), seed=0)
                call = Call(name=turn.call.name, arguments=turn.call.arguments)
                waiting = (await session.act(call)).text
            elif turn.role == "tool" and waiting is not None:
                assert turn.content == waiting
                waiting = None
        assert example.turns[-1].call is not None
        assert example.turns[-1].call.name == "final"


async def test_an_answer_is_right_to_two_decimals() -> None:
    task = SHOP.tasks(Split.TEST, count=3, seed=6)[2]
    right = float(recover(task).answer)
    for answer, value in [
        (right, 1.0),
        (right + 0.0049, 1.0),
        (right - 0.005, 1.0),
        (right + 0.006, 0.0),
        (right - 0.01, 0.0),
        (-right, 0.0),
        (0, 0.0),
        (10**400, 0.0),
    ]:
        _, score = await replay(task, (Call(name="final", arguments={"answer": answer}),))
        assert score.value == value, answer


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("calculator", {"expression": "2**3"}, "bad_expression"),
        ("calculator", {"expression": " 2*3"}, "bad_expression"),
        ("calculator", {"expression": "1/0"}, "division_by_zero"),
        ("calculator", {"expression": "9" * 40}, "too_large"),
        ("calculator", {"expression": 12}, "bad_arguments"),
        ("calculator", {}, "bad_arguments"),
        ("calculator", {"expression": "1", "more": 1}, "bad_arguments"),
        ("lookup", {"item": "no such thing"}, "unknown_item"),
        ("convert", {"value": 1, "from": "pounds", "to": "kilogram"}, "bad_arguments"),
        ("convert", {"value": 1, "from": " pound", "to": "kilogram"}, "bad_arguments"),
        ("convert", {"value": "1", "from": "pound", "to": "kilogram"}, "bad_arguments"),
        ("convert", {"value": True, "from": "pound", "to": "kilogram"}, "bad_arguments"),
        ("convert", {"value": 1, "from": "pound", "to": "meter"}, "incompatible_units"),
        ("convert", {"value": float("inf"), "from": "pound", "to": "gram"}, "bad_arguments"),
        ("convert", {"value": 1e300, "from": "pound", "to": "gram"}, "too_large"),
        ("final", {"answer": "12"}, "bad_arguments"),
        ("final", {"answer": None}, "bad_arguments"),
        ("final", {"answer": float("nan")}, "bad_arguments"),
        ("Calculator", {"expression": "1"}, "unknown_action"),
        ("", {}, "unknown_action"),
    ],
)
async def test_what_is_not_exact_is_an_error_and_no_answer(
    name: str, arguments: dict[str, JsonValue], kind: str
) -> None:
    session = await SHOP.open(price_task(), seed=0)
    call = Call.model_construct(id="", name=name, arguments=arguments)
    seen = await session.act(call)
    assert (seen.error_kind, seen.done) == (kind, False)
    assert 0 < len(seen.text) <= 200
    assert "\n" not in seen.text
    assert (await session.score()).error_kind == "no_answer"


async def test_an_item_is_found_by_its_exact_name_and_the_nearest_is_named() -> None:
    task = price_task()
    item = recover(task).item
    session = await SHOP.open(task, seed=0)
    found = await act(session, "lookup", item=item)
    assert (found.text, found.error_kind) == (str(recover(task).prices[item]), None)
    for wrong in (f" {item}", f"{item}s", item.upper()):
        seen = await act(session, "lookup", item=wrong)
        assert seen.error_kind == "unknown_item"
    assert f"nearest: {item!r}" in (await act(session, "lookup", item=f" {item}")).text


async def test_a_finished_or_closed_desk_refuses_everything_and_keeps_its_answer() -> None:
    task = price_task()
    session = await SHOP.open(task, seed=0)
    for call in SHOP.gold(task):
        await session.act(call)
    for name, arguments in (("calculator", {"expression": "1"}), ("final", {"answer": 1})):
        seen = await session.act(Call(name=name, arguments=dict[str, JsonValue](arguments)))
        assert (seen.error_kind, seen.done) == ("finished", True)
    assert (await session.score()).value == 1.0
    closed = await SHOP.open(task, seed=0)
    await closed.close()
    assert (await act(closed, "final", answer=1)).error_kind == "finished"


async def test_episodes_share_nothing() -> None:
    task = price_task()
    first, second = await asyncio.gather(SHOP.open(task, seed=0), SHOP.open(task, seed=0))
    await act(first, "final", answer=0)
    assert not (await act(second, "calculator", expression="1+1")).done
    for call in SHOP.gold(task):
        await second.act(call)
    assert [(await s.score()).value for s in (first, second)] == [0.0, 1.0]


def test_the_first_screen_is_the_question_and_final_alone_ends() -> None:
    task = price_task()
    session = asyncio.run(SHOP.open(task, seed=0))
    assert session.observation().text == task.prompt
    assert {spec.name: spec.final for spec in session.actions()} == {
        "calculator": False,
        "lookup": False,
        "convert": False,
        "final": True,
    }


def test_the_digest_covers_every_source_and_nothing_else(tmp_path: Path) -> None:
    assert len(SHOP.digest) == 64
    here = Path(inspect.getfile(Storefront)).parent
    assert source_digest(here) == SHOP.digest == Storefront().digest

    def copied(name: str) -> Path:
        shutil.copytree(here.parent, tmp_path / name)
        return tmp_path / name / "storefront"

    def grow(path: Path) -> None:
        path.write_bytes(path.read_bytes() + b"# more\n")

    windows = copied("windows")
    for source in windows.glob("*.py"):
        source.write_bytes(source.read_bytes().replace(b"\n", b"\r\n"))
    grow(windows / "harnesses" / "seed.yaml")
    assert source_digest(windows) == SHOP.digest
    for changed in ("session.py", "world.py", "../check.py"):
        folder = copied(changed.strip("./"))
        grow(folder / changed)
        assert source_digest(folder) != SHOP.digest
