"""Prices and bills: what is looked up, and what becomes of the prices."""

from fractions import Fraction

from evener.environments.storefront.detectors.calculation import expressions, is_of
from evener.environments.storefront.detectors.question import WORDS, asked, of
from evener.protocols.behaviour import Behaviour
from evener.protocols.conduct import attempts, numbers, worked
from evener.protocols.trajectory import Trajectory


def prices(trajectory: Trajectory) -> dict[str, Fraction]:
    """The prices that were looked up, by the name given."""
    return {
        str(event.call.arguments.get("item")): found[0]
        for event in worked(trajectory, "lookup")
        if (found := numbers(event.observation))
    }


def _looked_up_first(trajectory: Trajectory) -> bool:
    first = worked(trajectory)[:1]
    items = asked(trajectory).items
    return any(e.call.name == "lookup" and e.call.arguments.get("item") in items for e in first)


def _multiplied(trajectory: Trajectory) -> bool:
    wanted, known = asked(trajectory), prices(trajectory)
    price = known.get(wanted.items[0])
    return price is not None and any(
        is_of(expression, "*", (*wanted.numbers, price)) for expression in expressions(trajectory)
    )


def _quantity(trajectory: Trajectory) -> bool:
    (quantity,) = asked(trajectory).numbers
    return any(quantity in numbers(expression) for expression in expressions(trajectory))


def _exactly(trajectory: Trajectory) -> bool:
    items = asked(trajectory).items
    given = [
        call.arguments.get("item") for call, _ in attempts(trajectory) if call.name == "lookup"
    ]
    return bool(given) and all(item in items for item in given)


def _both(trajectory: Trajectory) -> bool:
    return set(asked(trajectory).items) <= prices(trajectory).keys()


def _added(trajectory: Trajectory) -> bool:
    wanted, known = asked(trajectory).items, prices(trajectory)
    if not _both(trajectory):
        return False
    pair = tuple(known[item] for item in wanted)
    return any(is_of(expression, "+", pair) for expression in expressions(trajectory))


CATALOGUE: tuple[Behaviour, ...] = (
    Behaviour(
        name="looked_up_first",
        part="tools[quote].steps",
        text="the first action that works looks up the item of the question",
        occasion=of("price"),
        shown=_looked_up_first,
        settings=WORDS,
    ),
    Behaviour(
        name="price_times_quantity",
        part="tools[quote].steps",
        text="the price that was looked up is multiplied by the question's quantity",
        occasion=of("price"),
        shown=_multiplied,
        conditional=True,
        settings=WORDS,
    ),
    Behaviour(
        name="quantity_copied",
        part="tools[quote].parameters",
        text="the question's quantity stands in a sum that was worked out",
        occasion=of("price"),
        shown=_quantity,
        conditional=True,
        settings=WORDS,
    ),
    Behaviour(
        name="item_exact",
        part="tools[lookup].arguments.item",
        text="something is looked up, and only by names that the question has, letter for letter",
        occasion=of("price", "bill"),
        shown=_exactly,
        conditional=True,
        settings=WORDS,
    ),
    Behaviour(
        name="both_looked_up",
        part="skills[bill].examples",
        text="the prices of both items of the question are looked up",
        occasion=of("bill"),
        shown=_both,
        settings=WORDS,
    ),
    Behaviour(
        name="prices_added",
        part="skills[bill].examples",
        text="the two prices that were looked up, and nothing else, are added",
        occasion=of("bill"),
        shown=_added,
        conditional=True,
        settings=WORDS,
    ),
)
