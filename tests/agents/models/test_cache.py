import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from evener.agents.models.cache import CachedModel, MemoryReplies
from evener.agents.models.scripted import ScriptedModel
from evener.protocols.error import InfraError, ModelError
from evener.protocols.message import Message
from evener.protocols.model import Reply, Request, Sampling, Usage


def ask(text: str, *, temperature: float = 0.0, seed: int = 0) -> Request:
    sampling = Sampling(temperature=temperature, seed=seed)
    return Request(messages=(Message(role="user", content=text),), sampling=sampling)


def numbered(request: Request) -> Reply:
    """A reply with token ids, as a local engine gives it."""
    text = request.messages[-1].content.upper()
    return Reply(
        text=text,
        token_ids=(1, 2),
        mean_logprob=-0.5,
        usage=Usage(calls=1, prompt_tokens=7, completion_tokens=2, seconds=0.1),
        model=ScriptedModel([]).ref,
    )


async def test_an_equal_request_is_answered_from_the_cache_and_costs_nothing() -> None:
    model = ScriptedModel(numbered)
    cached = CachedModel(model, MemoryReplies())
    first = await cached.complete(ask("a"))
    second = await cached.complete(ask("a"))
    assert first.usage.calls == 1
    assert second.usage == Usage(cached_calls=1, cached_prompt_tokens=7, cached_completion_tokens=2)
    assert (second.usage.made, second.usage.read, second.usage.written) == (1, 7, 2)
    assert first.usage + second.usage == Usage(
        calls=1,
        prompt_tokens=7,
        completion_tokens=2,
        seconds=0.1,
        cached_calls=1,
        cached_prompt_tokens=7,
        cached_completion_tokens=2,
    )
    assert second.model_copy(update={"usage": first.usage}) == first
    assert len(model.requests) == 1


async def test_greedy_requests_share_a_reply_across_seeds_and_sampled_ones_do_not() -> None:
    model = ScriptedModel(numbered)
    cached = CachedModel(model, MemoryReplies())
    for seed in (1, 2):
        await cached.complete(ask("a", seed=seed))
        await cached.complete(ask("a", temperature=0.5, seed=seed))
    assert len(model.requests) == 3


async def test_other_weights_do_not_answer_from_the_same_cache() -> None:
    store = MemoryReplies()
    await CachedModel(ScriptedModel(["old"], name="m0"), store).complete(ask("a"))
    reply = await CachedModel(ScriptedModel(["new"], name="m1"), store).complete(ask("a"))
    assert reply.text == "new"


async def test_equal_requests_at_the_same_time_are_computed_once() -> None:
    model = ScriptedModel(numbered, delay=0.02)
    cached = CachedModel(model, MemoryReplies())
    replies = await asyncio.gather(*(cached.complete(ask("a")) for _ in range(5)))
    assert len(model.requests) == 1
    assert sum((r.usage.calls for r in replies), 0) == 1
    assert sum((r.usage.cached_calls for r in replies), 0) == 4
    assert {r.text for r in replies} == {"A"}


async def test_an_error_is_not_kept() -> None:
    outcomes: Iterator[str | InfraError] = iter([InfraError("down"), "up"])

    def rule(request: Request) -> str:
        outcome = next(outcomes)
        if isinstance(outcome, InfraError):
            raise outcome
        return outcome

    cached = CachedModel(ScriptedModel(rule), MemoryReplies())
    with pytest.raises(InfraError):
        await cached.complete(ask("a"))
    assert (await cached.complete(ask("a"))).text == "up"


async def test_cancelling_one_waiter_leaves_the_others_their_reply() -> None:
    model = ScriptedModel(numbered, delay=0.05)
    cached = CachedModel(model, MemoryReplies())
    first = asyncio.create_task(cached.complete(ask("a")))
    second = asyncio.create_task(cached.complete(ask("a")))
    await asyncio.sleep(0.01)
    first.cancel()
    assert (await second).text == "A"
    assert len(model.requests) == 1


async def test_cancelling_the_last_waiter_stops_the_call_and_keeps_nothing() -> None:
    model = ScriptedModel(numbered, delay=30)
    store = MemoryReplies()
    task = asyncio.create_task(CachedModel(model, store).complete(ask("a")))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, timeout=1)
    assert len(asyncio.all_tasks()) == 1


async def test_a_damaged_entry_is_computed_again() -> None:
    class Damaged(MemoryReplies):
        def get(self, key: str) -> bytes | None:
            return b"{"

    assert (
        await CachedModel(ScriptedModel(["fresh"]), Damaged()).complete(ask("a"))
    ).text == "fresh"


async def test_a_model_without_adapters_says_so() -> None:
    cached = CachedModel(ScriptedModel([]), MemoryReplies())
    with pytest.raises(ModelError, match="cannot load adapters"):
        await cached.load_adapter("m1", Path("m1"))


async def test_adapters_of_a_cached_engine_have_replies_of_their_own(
    tiny: Path, lora: Path
) -> None:
    from evener.agents.models.local.engine import LocalEngine

    cached = CachedModel(LocalEngine(tiny, threads=1), MemoryReplies())
    adapted = cached.use(await cached.load_adapter("m1", lora))
    base = await cached.complete(ask("a"))
    other = await adapted.complete(ask("a"))
    assert base.token_ids != other.token_ids
    assert (await adapted.complete(ask("a"))).token_ids == other.token_ids
    assert (await adapted.complete(ask("a"))).usage.cached_calls == 1
    await cached.close()
