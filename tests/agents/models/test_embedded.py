"""The embedded student itself. Slow: the first run fetches and converts 100 MB."""

import asyncio

import pytest

from evener.agents.models.local.engine import LocalEngine
from evener.agents.models.local.resolve import resolve
from evener.agents.models.local.store import damaged_files
from evener.protocols.message import Message
from evener.protocols.model import Request, Sampling, StopReason

pytestmark = pytest.mark.slow

EXAMPLES = [
    ("A box holds 12 pens. How many pens are in 7 boxes?", "12*7"),
    ("Ada has 31 cards and gets 45 more. How many has she now?", "31+45"),
    ("A shop sells 88 cups and 19 come back. How many are sold?", "88-19"),
]


def ask(n: int) -> Request:
    turns = [Message(role="system", content="Answer with one JSON object.")]
    for question, expression in EXAMPLES:
        turns.append(Message(role="user", content=question))
        turns.append(Message(role="assistant", content=f'{{"expression": "{expression}"}}'))
    turns.append(Message(role="user", content=f"A crate holds {n + 11} plums. And 23 crates?"))
    sampling = Sampling(temperature=(n % 2) * 1.0, top_p=1 - (n % 3) * 0.02, seed=n, max_tokens=24)
    return Request(messages=tuple(turns), sampling=sampling)


async def test_it_writes_well_formed_answers_that_no_batch_changes() -> None:
    folder = resolve("embedded")
    requests = [ask(n) for n in range(8)]
    together_engine = LocalEngine(folder, threads=1)
    together = await asyncio.gather(*(together_engine.complete(r) for r in requests))
    await together_engine.close()
    alone_engine = LocalEngine(folder, threads=1, max_batch=1, prefix_tokens=0)
    alone = [await alone_engine.complete(r) for r in requests]
    await alone_engine.close()
    assert [r.token_ids for r in together] == [r.token_ids for r in alone]
    greedy = together[0::2]
    assert all(r.text.startswith('{"expression": "') for r in greedy)
    assert all(r.stop_reason is StopReason.END for r in greedy)


def test_its_files_are_whole() -> None:
    assert damaged_files(resolve("embedded")) == ()
