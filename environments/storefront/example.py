"""The desk's documentation: worked examples that share no name, item or numbers with any split."""

from collections.abc import Iterator

from evener.environments.storefront.gold import solution
from evener.environments.storefront.wording import KINDS
from evener.environments.storefront.world import world
from evener.protocols.harness import ExampleCall, ExampleTurn
from evener.protocols.port import WorkedExample

EACH = 8
# The first from 17 on whose opening examples show * + - in turn, three dimensions, both usual
# sentences of a conversion and several verbs, and where no example's two numbers are equal.
SEED = 25


def examples() -> tuple[WorkedExample, ...]:
    """`EACH` of every kind, kinds in turn; operators and units vary among the first of a kind."""
    return tuple(_example(index) for index in range(EACH * len(KINDS)))


def _example(index: int) -> WorkedExample:
    shown = world("example", SEED, index)
    return WorkedExample(
        kind=shown.kind,
        turns=(ExampleTurn(role="user", content=shown.prompt), *_turns(index)),
    )


def _turns(index: int) -> Iterator[ExampleTurn]:
    for call, text in solution(world("example", SEED, index)):
        yield ExampleTurn(
            role="assistant", call=ExampleCall(name=call.name, arguments=call.arguments)
        )
        if call.name != "final":
            yield ExampleTurn(role="tool", content=text)
