"""A right solution of a world in the environment's own actions, and what the desk answers to it."""

from decimal import Decimal

from pydantic import JsonValue

from evener.environments.storefront.calculator import formatted
from evener.environments.storefront.world import World
from evener.protocols.message import Call


def solution(world: World) -> tuple[tuple[Call, str], ...]:
    """Each call with the observation it gets; the last is `final`."""
    answer = formatted(world.answer)
    steps: list[tuple[Call, str]]
    match world.form:
        case "weight" | "length" | "volume":
            given: dict[str, JsonValue] = {
                "value": world.numbers[0],
                "from": world.source,
                "to": world.target,
            }
            steps = [(Call(name="convert", arguments=given), answer)]
        case "price":
            quantity, price = world.numbers
            steps = [_lookup(world.item, price), (_calculator(f"{quantity}*{price}"), answer)]
        case "bill":
            one, other = world.numbers
            steps = [
                _lookup(world.item, one),
                _lookup(world.other, other),
                (_calculator(f"{one}+{other}"), answer),
            ]
        case operator:
            a, b = world.numbers
            steps = [(_calculator(f"{a}{operator}{b}"), answer)]
    number = int(answer) if "." not in answer else float(Decimal(answer))
    return (*steps, (Call(name="final", arguments={"answer": number}), "done"))


def _lookup(item: str, price: int) -> tuple[Call, str]:
    return Call(name="lookup", arguments={"item": item}), str(price)


def _calculator(expression: str) -> Call:
    return Call(name="calculator", arguments={"expression": expression})
