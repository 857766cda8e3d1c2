"""The desk's documentation: worked examples that share no name, item or numbers with any split."""

from collections.abc import Iterator

from evener.environments.storefront.gold import solution
from evener.environments.storefront.wording import KINDS, Kind
from evener.environments.storefront.world import World, world
from evener.protocols.harness import ExampleCall, ExampleTurn
from evener.protocols.port import WorkedExample

EACH = 8
# Chosen so that the first of a kind show * + - in turn, three dimensions and both sentences of a
# conversion; for price, whose examples weigh most, by the base's rates (docs/storefront.md).
SEEDS: dict[Kind, int] = {"calc": 25, "price": 239, "convert": 25, "bill": 25}


def examples() -> tuple[WorkedExample, ...]:
    """`EACH` of every kind, kinds in turn; operators and units vary among the first of a kind."""
    indices = range(EACH * len(KINDS))
    return tuple(_example(world("example", _seed(index), index)) for index in indices)


def _seed(index: int) -> int:
    return SEEDS[KINDS[index % len(KINDS)]]


def _example(shown: World) -> WorkedExample:
    asked = ExampleTurn(role="user", content=shown.prompt)
    return WorkedExample(kind=shown.kind, turns=(asked, *_turns(shown)))


def _turns(shown: World) -> Iterator[ExampleTurn]:
    for call, text in solution(shown):
        yield ExampleTurn(
            role="assistant", call=ExampleCall(name=call.name, arguments=call.arguments)
        )
        if call.name != "final":
            yield ExampleTurn(role="tool", content=text)
