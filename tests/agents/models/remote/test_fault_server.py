"""The server that fails as it is told to: its own books, and its scripts."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from evener.agents.models.remote.faults import FAULTS, FaultServer, Script, scripted, seeded


def kinds_of(script: Script, requests: int) -> list[str | None]:
    faults = [script(number) for number in range(requests)]
    return [fault.kind if fault else None for fault in faults]


def test_a_seed_decides_which_requests_fail_and_how() -> None:
    one, again, other = (seeded(seed, rate=0.2) for seed in (1, 1, 2))
    kinds = kinds_of(one, 4000)
    assert kinds == kinds_of(again, 4000)
    assert kinds != kinds_of(other, 4000)
    counted = Counter(kinds)
    assert 700 < 4000 - counted[None] < 900
    assert {*counted} == {None, *FAULTS}


def test_a_list_decides_for_the_first_requests() -> None:
    script = scripted([None, "hang"])
    assert kinds_of(script, 3) == [None, "hang", None]


async def test_the_books_count_what_was_told_and_what_was_not(
    lean: Callable[..., Any], ask: Any
) -> None:
    script = scripted(["overloaded", "empty_choices", "cut", "no_usage"])
    async with FaultServer("two words", script) as server, lean(server, attempts=5) as model:
        await model.complete(ask("one two three"))
        await model.complete(ask("one two three"))
        assert (server.books.requests, server.books.told, server.books.untold) == (5, 2, 3)
        assert server.books.tokens == (6, 2)
        assert server.books.faults == Counter(["overloaded", "empty_choices", "cut", "no_usage"])
        spent = model.spending
    assert (spent.calls, spent.untold) == (5, 3)
    assert (spent.prompt_tokens, spent.completion_tokens) == (6, 2)
