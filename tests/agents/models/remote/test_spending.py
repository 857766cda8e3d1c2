import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from evener.agents.models.remote.faults import Fault, FaultServer, scripted
from evener.agents.models.remote.price import Price
from evener.agents.models.remote.settings import Allowance
from evener.agents.models.remote.spending import Spending
from evener.protocols.error import BudgetError

Client = Callable[..., Any]


async def test_a_budget_of_calls_is_exact_however_many_are_made_at_once(
    client: Client, ask: Any
) -> None:
    async with FaultServer("fine") as server:
        async with client(server, budget={"calls": 7}) as model:
            results = await asyncio.gather(
                *(model.complete(ask(str(n))) for n in range(20)), return_exceptions=True
            )
        assert server.books.requests == 7
    stopped = [r for r in results if isinstance(r, BudgetError)]
    assert len(stopped) == 13
    assert str(stopped[0]) == "the budget of 7 calls of the student is used up (7 used)"


async def test_retries_count_against_the_budget(client: Client, ask: Any) -> None:
    async with FaultServer("fine", scripted([Fault("overloaded")] * 9)) as server:
        async with client(server, attempts=5, budget={"calls": 2}) as model:
            with pytest.raises(BudgetError):
                await model.complete(ask())
        assert server.books.requests == 2


async def test_a_budget_of_tokens_is_checked_before_a_call(client: Client, ask: Any) -> None:
    async with FaultServer("four words are said") as server:
        async with client(server, budget={"tokens": 8}) as model:
            await model.complete(ask("say it now"))
            await model.complete(ask("say it now"))  # 7 of 8 were used
            with pytest.raises(BudgetError, match="14 used"):
                await model.complete(ask("say it now"))
        assert server.books.requests == 2


async def test_an_unknown_price_is_unknown_tokens_count_and_the_user_is_told(
    client: Client, ask: Any
) -> None:
    async with (
        FaultServer("word " * 99 + "word") as server,
        client(server, name="lab-student-7b-lora3", budget={"usd": 1.0, "tokens": 1000}) as model,
    ):
        assert model.unpriced()
        usage = (await model.complete(ask("word " * 900))).usage
        assert (usage.prompt_tokens, usage.completion_tokens) == (900, 100)
        assert usage.cost_usd is None
        assert "unknown price for 1 calls" in model.spending.sentence()
        with pytest.raises(BudgetError, match="1000 tokens of the student"):
            await model.complete(ask())


async def test_the_user_s_price_makes_a_budget_of_money_count(client: Client, ask: Any) -> None:
    async with (
        FaultServer("word " * 99 + "word") as server,
        client(server, price_in=1000.0, price_out=2000.0, budget={"usd": 1.0}) as model,
    ):
        assert not model.unpriced()
        usage = (await model.complete(ask("word " * 900))).usage
        assert usage.cost_usd == pytest.approx(1.1)
        with pytest.raises(BudgetError, match="1 USD of the student"):
            await model.complete(ask())


async def test_a_run_that_goes_on_counts_what_it_had_used(
    lean: Client, ask: Any, journal: Any
) -> None:
    async with FaultServer("fine", scripted(["empty_choices", "overloaded"])) as server:
        async with lean(server, price_in=1.0, price_out=1.0) as model:
            model.log_to(journal)
            await model.complete(ask())
            before = vars(model.spending)
        async with lean(server, price_in=1.0, price_out=1.0, budget={"calls": 3}) as model:
            model.log_to(journal)
            after = vars(model.spending)
            with pytest.raises(BudgetError):
                await model.complete(ask())
        async with lean(server, role="critic", budget={"calls": 3}) as model:
            model.log_to(journal)
            assert model.spending.calls == 0
    assert {k: v for k, v in after.items() if k != "allowance"} == {
        k: pytest.approx(v) if isinstance(v, float) else v
        for k, v in before.items()
        if k != "allowance"
    }
    assert before["untold"] == 1  # the answer with an error status told no usage


def test_a_price_needs_both_halves_and_nought_is_a_price_that_somebody_said() -> None:
    assert Price(1.0, 2.0).of(1_000_000, 500_000) == 2.0
    assert Price(1.0, None).of(1, 1) is None
    assert Price(0.0, 0.0).of(1, 1) == 0.0


def test_seconds_are_those_of_waiting_for_replies() -> None:
    book = Spending("critic", Allowance(seconds=3))
    book.begin()
    book.end(3.5, (10, 2), None)
    with pytest.raises(BudgetError, match="3 seconds of the critic"):
        book.begin()
