"""What can go wrong with a call, and who decides when: a list, or a seed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeAlias, get_args

FaultKind: TypeAlias = Literal[
    "latency",
    "rate_limited",
    "rate_limited_date",
    "rate_limited_bare",
    "server_error",
    "overloaded",
    "hang",
    "silence",
    "cut",
    "garbage",
    "not_json",
    "error_body",
    "null_choices",
    "empty_choices",
    "null_message",
    "null_content",
    "content_filter",
    "context_exceeded",
    "malformed_call",
    "cut_call",
    "cut_by_length",
    "reasoning_only",
    "no_usage",
]
"""`hang` never answers, `silence` sends headers and then nothing, `cut` breaks off in the middle,
`garbage` puts a broken line into a stream (without streaming: into the JSON). `malformed_call`
answers with a call whose arguments are no JSON, `cut_call` with one that breaks off and says
`tool_calls`."""

FAULTS: tuple[FaultKind, ...] = get_args(FaultKind)


@dataclass(frozen=True)
class Fault:
    """One failure. `seconds` is the latency, or the wish in Retry-After; `status` overrules that
    of server errors."""

    kind: FaultKind
    seconds: float = 1.0
    status: int | None = None


Script: TypeAlias = Callable[[int], Fault | None]
"""The fault of the request with that number, from 0; None for a good answer."""


def scripted(faults: Iterable[Fault | FaultKind | None]) -> Script:
    """The faults of the first requests in order; good answers after them."""
    listed = [Fault(fault) if isinstance(fault, str) else fault for fault in faults]
    return lambda number: listed[number] if number < len(listed) else None


def seeded(
    seed: int, *, rate: float, kinds: Sequence[FaultKind] = FAULTS, seconds: float = 0.0
) -> Script:
    """A fault for about `rate` of the requests, by request number: equal seeds give equal ones."""

    def fault(number: int) -> Fault | None:
        random = Random(f"{seed}:{number}")
        if random.random() >= rate:
            return None
        return Fault(random.choice(kinds), seconds=seconds)

    return fault
