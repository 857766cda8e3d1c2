"""Every detector of the desk's optimized harness, each with an episode that shows its pattern and
one that does not, both under the minimal harness."""

import re
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import pytest

from evener.agents.harness.hooks.table import TABLE
from evener.distill.detectors import detectors_of, sightings, undetected
from evener.distill.detectors.hook import HOOKS, WITHOUT
from evener.environments.storefront import Storefront
from evener.protocols.error import ConfigError
from evener.protocols.harness import Harness
from evener.protocols.path import ABSENT, read
from evener.protocols.port import Detectable, Detector
from evener.protocols.task import Split, Task
from evener.protocols.trajectory import Outcome, Score, Trajectory

Play = Callable[..., Awaitable[Trajectory]]

SILENT = "I think it is about forty."


def said(name: str, arguments: str) -> str:
    return f'{{"name":"{name}","arguments":{{{arguments}}}}}'


def calc(expression: str) -> str:
    return said("calculator", f'"expression":"{expression}"')


def look(item: str) -> str:
    return said("lookup", f'"item":"{item}"')


def conv(value: object, source: str, to: str) -> str:
    return said("convert", f'"value":{value},"from":"{source}","to":"{to}"')


def final(answer: object) -> str:
    return said("final", f'"answer":{answer}')


def filled(shop: Storefront, task: Task, lines: tuple[str, ...]) -> list[str]:
    """The lines with what the task's gold solution has in the place of the marks."""
    gold = shop.gold(task)
    marks: dict[str, str] = {"answer": str(gold[-1].arguments["answer"])}
    for step in gold[:-1]:
        match step.arguments:
            case {"expression": str(text)}:
                first, second = re.findall(r"[0-9]+", text)
                marks |= {"a": first, "b": second, "second": second}
                marks |= {"price": second if task.kind == "price" else first}
            case {"item": str(item)}:
                marks |= {"other" if "item" in marks else "item": item}
            case given:
                marks |= {name: str(value) for name, value in given.items()}
    marks |= {"Item": marks["item"].title()} if "item" in marks else {}
    made = list(lines)
    for mark, value in marks.items():
        made = [line.replace(f"<{mark}>", value) for line in made]
    assert not any("<" in line for line in made), made
    return made


class Pair(NamedTuple):
    """Lines that show a pattern on a task of a kind, and lines that do not."""

    kind: str
    shown: tuple[str, ...]
    not_shown: tuple[str, ...]


# `<item>` and the like are filled in from the task's gold solution
CALC = (calc("<a>-<b>"), final("<answer>"))
SOLD = (look("<item>"), calc("<a>*<price>"), final("<answer>"))
MADE = (conv("<value>", "<from>", "<to>"), final("<answer>"))
BILL = (look("<item>"), look("<other>"), calc("<price>+<second>"), final("<answer>"))

PAIRS: dict[str, Pair] = {
    "procedure:calc": Pair("calc", CALC, (look("drum"), look("red drum"), final("<answer>"))),
    "procedure:price": Pair("price", SOLD, (calc("<a>*<price>"), final("<answer>"))),
    "procedure:convert": Pair("convert", MADE, (calc("<value>*3.78"), final("<answer>"))),
    "procedure:bill": Pair("bill", BILL, (look("<item>"), calc("<price>+<price>"), final(74))),
    "tools:calc": Pair(
        "calc", CALC, (conv("<a>", "inch", "meter"), calc("<a>-<b>"), final("<answer>"))
    ),
    "tools:price": Pair(
        "price", SOLD, (*SOLD[:2], conv("<a>", "inch", "meter"), final("<answer>"))
    ),
    "tools:convert": Pair("convert", MADE, (calc("<value>*3.78"), final("<answer>"))),
    "tools:bill": Pair("bill", BILL, (conv(1, "inch", "meter"), final(123))),
    "steps:quote": Pair("price", SOLD, (look("<item>"), calc("<a>*<a>"), final(6241))),
    "canonical:calculator.expression": Pair("calc", CALC, (calc(" <a>-<b>"), final("<answer>"))),
    "canonical:lookup.item": Pair("price", SOLD, (look("<Item>"), *SOLD)),
    "canonical:quote.item": Pair("price", SOLD, (look("<item> "), *SOLD)),
    "canonical:convert_any.from": Pair(
        "convert", MADE, (conv("<value>", "<from>s", "<to>"), *MADE)
    ),
    "canonical:convert_any.to": Pair("convert", MADE, (conv("<value>", "<from>", "<to>s"), *MADE)),
    "hook:repair_call": Pair("calc", CALC, ('{"name": "calculator"', *CALC)),
    "hook:require_action": Pair("calc", CALC, (SILENT,)),
    "hook:loop_guard": Pair("calc", (*CALC[:1], *CALC), (*CALC[:1] * 3, final("<answer>"))),
    "hook:verify_answer": Pair("calc", CALC, (calc("<a>-<b>"), final("<b>"))),
    "one_call": Pair("calc", CALC, (calc("<a>-<b>") + calc("1+1"), *CALC)),
    "ended_in_time": Pair("calc", CALC, (calc("<a>-<b>"),)),
    "tool_first": Pair("calc", CALC, (final("<answer>"),)),
    "repaired": Pair("price", (look("thing"), *SOLD), (look("thing"), look("thing"), *SOLD)),
    "no_repeat": Pair("calc", CALC, (*CALC[:1], *CALC)),
    "operands_copied": Pair("calc", CALC, (calc("<a>-<b>1"), final(74))),
    "operator_named": Pair("calc", (calc("<a>-1"), final(1)), (calc("<a>*<b>"), final(41109))),
    "looked_up_first": Pair("price", SOLD, (calc("<a>*<a>"), *SOLD)),
    "price_times_quantity": Pair("price", SOLD, (*SOLD[:1], calc("<price>*<price>"), final(961))),
    "quantity_copied": Pair(
        "price", (calc("<a>*<a>"), final(1)), (calc("<price>*<price>"), final(961))
    ),
    "item_exact": Pair("price", SOLD, (look("<item>s"), *SOLD)),
    "both_looked_up": Pair("bill", BILL, (look("<item>"), calc("<price>+<price>"), final(74))),
    "prices_added": Pair("bill", BILL, (*BILL[:2], calc("<price>+<price>"), final(74))),
    "convert_chosen": Pair("convert", (conv(1, "gallons", "l"),), (calc("<value>*3"), final(783))),
    "not_calculated": Pair("convert", MADE, (*MADE[:1], calc("<answer>*1"), final("<answer>"))),
    "value_copied": Pair("convert", MADE, (conv("<value>1", "<from>", "<to>"), final(817.65))),
    "units_asked": Pair("convert", MADE, (conv("<value>", "<to>", "<from>"), final(68.95))),
    "handed_in_at_once": Pair("calc", CALC, (*CALC[:1], calc("<answer>*1"), final("<answer>"))),
}


def test_every_detector_has_a_pair_and_no_other_has(detectors: dict[str, Detector]) -> None:
    assert sorted(PAIRS) == sorted(detectors)
    assert len(detectors) >= 12
    assert sum(detector.conditional for detector in detectors.values()) >= 4


@pytest.mark.parametrize("name", PAIRS)
async def test_a_detector_tells_its_two_episodes_apart(
    name: str,
    detectors: dict[str, Detector],
    target: Harness,
    shop: Storefront,
    task_of: Callable[..., Task],
    play: Play,
) -> None:
    detector, pair = detectors[name], PAIRS[name]
    task = task_of(pair.kind)
    yes = await play(target, task, *filled(shop, task, pair.shown))
    no = await play(target, task, *filled(shop, task, pair.not_shown))
    assert detector.shows(yes), yes.events
    assert detector.applies(no) or name == "repaired"
    assert not detector.shows(no), no.events


async def test_the_right_solution_shows_every_pattern_it_has_the_occasion_for(
    detectors: dict[str, Detector], target: Harness, shop: Storefront, gold: Play
) -> None:
    occasions: set[str] = set()
    for split in (Split.TEST, Split.OOD):
        for task in shop.tasks(split, count=32, seed=11):
            episode = await gold(target, task)
            assert episode.solved
            for name, detector in detectors.items():
                if detector.applies(episode):
                    occasions.add(name)
                    assert detector.shows(episode), (name, task.prompt)
                else:
                    assert not detector.shows(episode)
    assert set(detectors) - occasions == {"repaired"}


async def test_under_the_optimized_harness_its_tools_show_what_they_are_there_for(
    detectors: dict[str, Detector],
    optimized: Harness,
    shop: Storefront,
    task_of: Callable[..., Task],
    play: Play,
) -> None:
    price, convert = task_of("price"), task_of("convert")
    quote = said("quote", '"item":"<Item> ","quantity":<a>')
    sold = await play(optimized, price, *filled(shop, price, (quote, final("<answer>"))))
    for name in (
        "procedure:price",
        "steps:quote",
        "canonical:quote.item",
        "looked_up_first",
        "price_times_quantity",
        "handed_in_at_once",
        "hook:verify_answer",
    ):
        assert detectors[name].shows(sold), name
    spelled = said("convert_any", '"value":<value>,"from":"<from>s","to":"<to>S"')
    made = await play(optimized, convert, *filled(shop, convert, (spelled, final("<answer>"))))
    for name in ("canonical:convert_any.from", "convert_chosen", "units_asked", "tools:convert"):
        assert detectors[name].shows(made), name


async def test_a_silent_student_gives_no_occasion_for_a_conditional_pattern(
    detectors: dict[str, Detector], target: Harness, shop: Storefront, play: Play
) -> None:
    for task in shop.tasks(Split.TEST, count=4, seed=3):
        silent = await play(target, task, SILENT)
        for name, detector in detectors.items():
            assert not detector.shows(silent), name
            assert not (detector.conditional and detector.applies(silent)), name


async def test_neither_outcome_nor_score_nor_answer_is_read(
    detectors: dict[str, Detector],
    target: Harness,
    shop: Storefront,
    task_of: Callable[..., Task],
    play: Play,
) -> None:
    task = task_of("price")
    solved = await play(target, task, *filled(shop, task, SOLD))
    for outcome, value in ((Outcome.FAILED, 0.0), (Outcome.TRUNCATED, 0.5)):
        changed = solved.model_copy(
            update={"outcome": outcome, "score": Score(value=value, verdict="incorrect")}
        )
        for detector in detectors.values():
            assert detector.shows(changed) == detector.shows(solved)


def test_every_detector_stands_for_a_part_that_there_is(
    detectors: dict[str, Detector], optimized: Harness, target: Harness, shop: Storefront
) -> None:
    document = optimized.document()
    assert [d.name for d in detectors.values() if read(document, d.part) is ABSENT] == []
    assert undetected(optimized, tuple(detectors.values())) == ()
    assert undetected(optimized, ())[:2] == ("tools[calculator]", "tools[lookup]")
    assert isinstance(shop, Detectable)
    names = {detector.name for detector in detectors_of(target, shop)}
    assert "looked_up_first" not in names
    assert names >= {"tool_first", "one_call"}


def test_every_hook_has_a_detector_or_a_reason() -> None:
    assert sorted({*HOOKS, *WITHOUT}) == sorted(TABLE)
    assert not {*HOOKS} & {*WITHOUT}


def test_an_environment_that_takes_a_name_is_refused(
    optimized: Harness, detectors: dict[str, Detector]
) -> None:
    class Twice(Storefront):
        def detectors(self) -> tuple[Detector, ...]:
            return (detectors["tool_first"],)

    with pytest.raises(ConfigError, match="two detectors are named 'tool_first'"):
        detectors_of(optimized, Twice())


async def test_an_episode_of_the_machinery_is_not_sighted(
    detectors: dict[str, Detector], target: Harness, task_of: Callable[..., Task], play: Play
) -> None:
    whole = await play(target, task_of("calc"), calc("1+1"), final(2))
    broken = whole.model_copy(update={"outcome": Outcome.INFRA})
    (one,) = sightings(detectors["tool_first"], [whole, broken])
    assert one == (whole.task.id, True, True)
