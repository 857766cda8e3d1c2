"""Where tokens stand in the text that they spell, found by decoding.

Works for any ids, those that a student sampled too, which need not be what the tokenizer would make
of the text. A token that ends within a character shares that character with its neighbours.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

Decode: TypeAlias = Callable[[Sequence[int]], str]


def text_ends(ids: Sequence[int], decode: Decode) -> list[int | None]:
    """For each token, where in the text it ends; None for one that ends within a character."""
    whole = decode(ids)
    made: list[int | None] = []
    for count in range(1, len(ids) + 1):
        text = decode(ids[:count])
        made.append(len(text) if whole.startswith(text) else None)
    return made


def places(ids: Sequence[int], decode: Decode) -> list[tuple[int, int]]:
    """The half-open range of characters of each token; tokens that share a character have the range
    of all of them. Raises ValueError where more tokens spell less text."""
    ends = [0, *text_ends(ids, decode)]
    known = [(count, end) for count, end in enumerate(ends) if end is not None]
    made: list[tuple[int, int]] = []
    for (low, start), (high, end) in pairwise(known):
        if end < start:
            raise ValueError(f"{high} tokens spell {end} characters, {low} of them {start}")
        made += [(start, end)] * (high - low)
    return made
