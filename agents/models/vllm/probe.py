"""Does an adapter change what the server answers? Loading one that matches nothing "succeeds" too.

Base and adapter answer fixed prompts greedily. The base answers twice: what differs there is the
server's own noise, and an adapter must differ by more.
"""

import asyncio
from collections.abc import Sequence

from evener.protocols.message import Message
from evener.protocols.model import Reply, Request, Sampling
from evener.protocols.port import Model

PROMPTS = ("What is 17 times 23?", "Name a colour, and say where it is seen.")
_TOKENS = 12
_FLOOR = 1e-5


async def differs(base: Model, adapted: Model) -> bool:
    """Whether `adapted` answers otherwise than `base`: in its words, or in how likely they are."""
    first = await _answers(base)
    changed = await _answers(adapted)
    second = await _answers(base)
    if _texts(first) != _texts(changed):
        return _texts(first) == _texts(second) or _texts(second) != _texts(changed)
    return _distance(first, changed) > max(_FLOOR, 2 * _distance(first, second))


async def _answers(model: Model) -> list[Reply]:
    requests = [
        Request(
            messages=(Message(role="user", content=prompt),),
            sampling=Sampling(max_tokens=_TOKENS),
        )
        for prompt in PROMPTS
    ]
    return list(await asyncio.gather(*(model.complete(request) for request in requests)))


def _texts(replies: Sequence[Reply]) -> list[str]:
    return [reply.text for reply in replies]


def _distance(some: Sequence[Reply], others: Sequence[Reply]) -> float:
    """The largest difference of mean log-probabilities; 0 where none are told."""
    return max(
        abs((a.mean_logprob or 0.0) - (b.mean_logprob or 0.0))
        for a, b in zip(some, others, strict=True)
    )
