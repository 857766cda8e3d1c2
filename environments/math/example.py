"""The documentation: worked examples whose numbers belong to no split."""

from collections.abc import Iterator
from itertools import count
from json import dumps

from evener.environments.math.generated import drawn
from evener.environments.math.kinds import USUAL, Made
from evener.environments.scoring.normal import rational
from evener.protocols.harness import ExampleCall, ExampleTurn
from evener.protocols.port import WorkedExample

EACH = 4
# Where the program prints the answer as it may be handed in: a whole number or a fraction.
KINDS: tuple[str, ...] = tuple(kind for kind in USUAL if kind not in ("quadratic", "altitude"))


def examples() -> tuple[WorkedExample, ...]:
    """`EACH` of every kind of `KINDS`, kinds in turn, none twice."""
    made = {kind: _different(kind) for kind in KINDS}
    return tuple(
        WorkedExample(kind=kind, turns=tuple(_turns(made[kind][number])))
        for number in range(EACH)
        for kind in KINDS
    )


def _different(kind: str) -> list[Made]:
    found: dict[tuple[int, ...], Made] = {}
    for seed in count():
        if len(found) == EACH:
            break
        made = drawn("example", kind, str(seed))
        found.setdefault(made.numbers, made)
    return [*found.values()]


def _turns(made: Made) -> Iterator[ExampleTurn]:
    value = str(rational(made.answer))
    result = {"stdout": f"{value}\n", "stderr": "", "exit_code": 0}
    run = ExampleCall(name="python", arguments={"code": made.program})
    yield ExampleTurn(role="user", content=made.prompt)
    yield ExampleTurn(role="assistant", call=run)
    yield ExampleTurn(role="tool", content=dumps(result, ensure_ascii=False))
    yield ExampleTurn(role="assistant", call=ExampleCall(name="final", arguments={"answer": value}))
