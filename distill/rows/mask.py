"""Which tokens carry the loss, decided on token ids: a sampled reply and its end-of-turn token.

Padding is told by a row's length and never by its id, so that an end-of-turn token that is also
the padding token is still learnt.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
"""Half-open: the ids `start` up to but not including `end` carry the loss."""

IGNORED = -100
"""The label of a token without a loss, as PyTorch's cross entropy takes it."""

Tokens: TypeAlias = tuple[int, ...]


def join(turns: Iterable[tuple[Sequence[int], Sequence[int]]]) -> list[tuple[Tokens, list[Span]]]:
    """(prompt ids, reply ids) of an episode's turns → rows of ids with the replies' spans.

    A turn whose prompt begins with all the row so far goes on with it; any other (a window that
    slid, thoughts that the template drops, other tokens for the same text) begins a row, so that
    every reply stands behind exactly the tokens it was, or will be, served behind.
    """
    rows: list[tuple[Tokens, list[Span]]] = []
    for prompt, reply in turns:
        span = (len(prompt), len(prompt) + len(reply))
        ids = (*prompt, *reply)
        if rows and ids[: len(rows[-1][0])] == rows[-1][0] and len(prompt) >= len(rows[-1][0]):
            rows[-1] = (ids, [*rows[-1][1], span])
        else:
            rows.append((ids, [span]))
    return rows


def cut(ids: Tokens, spans: Sequence[Span], *, max_tokens: int) -> tuple[Tokens, list[Span]]:
    """The row up to its last whole span within `max_tokens`; without any, no ids and no spans."""
    whole = [span for span in spans if span[1] <= max_tokens]
    return (ids[: whole[-1][1]], whole) if whole else ((), [])


def without(spans: Sequence[Span], holes: Sequence[Span]) -> list[Span]:
    """What is left of the spans outside the holes, in order."""
    left = list(spans)
    for low, high in holes:
        left = [
            (start, end)
            for a, b in left
            for start, end in ((a, min(b, low)), (max(a, high), b))
            if start < end
        ]
    return left


def labels(ids: Sequence[int], spans: Sequence[Span]) -> list[int]:
    """The ids where they carry the loss, IGNORED elsewhere. Raises ValueError on a bad span."""
    made = [IGNORED] * len(ids)
    for start, end in spans:
        # nothing predicts the first token of a row
        if not 1 <= start < end <= len(ids):
            raise ValueError(f"span {start}…{end} does not lie in a row of {len(ids)} tokens")
        made[start:end] = ids[start:end]
    return made


def runs(mask: Sequence[int | bool]) -> list[Span]:
    """The maximal stretches of set entries."""
    found: list[Span] = []
    for index, entry in enumerate(mask):
        if not entry:
            continue
        if found and found[-1][1] == index:
            found[-1] = (found[-1][0], index + 1)
        else:
            found.append((index, index + 1))
    return found
