"""Keys and values of prompt beginnings, kept for the requests that share them.

Prompts are cut into blocks of 16 tokens. A block's key covers the adapter and every token before
it, so that equal keys mean equal keys and values. The least recently used blocks go first.
"""

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

BLOCK = 16
_LEAST = 2
"""Blocks: a shorter common beginning is not worth a copy."""


def block_keys(owner: str, ids: Sequence[int]) -> list[bytes]:
    """One key for every whole block of `ids`; `owner` names the weights."""
    keys: list[bytes] = []
    state = hashlib.sha256(owner.encode())
    for start in range(0, len(ids) - BLOCK + 1, BLOCK):
        state.update(array("q", ids[start : start + BLOCK]).tobytes())
        keys.append(state.digest())
    return keys


class PrefixCache:
    """Blocks of keys and values, at most `tokens` tokens of them; 0 switches the cache off."""

    def __init__(self, tokens: int) -> None:
        self._limit = tokens // BLOCK
        self._blocks: OrderedDict[bytes, torch.Tensor] = OrderedDict()

    @property
    def tokens(self) -> int:
        """Tokens held now."""
        return len(self._blocks) * BLOCK

    @property
    def limit(self) -> int:
        """Tokens held at most."""
        return self._limit * BLOCK

    def count(self, keys: Sequence[bytes]) -> int:
        """How many leading blocks are held."""
        for index, key in enumerate(keys):
            if key not in self._blocks:
                return index
        return len(keys)

    def match(self, keys: Sequence[bytes]) -> "list[torch.Tensor]":
        """The leading blocks that are held, or none where they are too few to be worth it."""
        held = self.count(keys)
        if held < _LEAST:
            return []
        self._touch(keys[:held])
        return [self._blocks[key] for key in keys[:held]]

    def store(self, keys: Sequence[bytes], take: "Callable[[int, int], torch.Tensor]") -> None:
        """Hold the blocks of a row; `take(start, stop)` copies its columns."""
        for index, key in enumerate(keys[: self._limit]):
            if key not in self._blocks:
                self._blocks[key] = take(index * BLOCK, (index + 1) * BLOCK)
        self._touch(keys[: self._limit])
        while len(self._blocks) > self._limit:
            self._blocks.popitem(last=False)

    def _touch(self, keys: Sequence[bytes]) -> None:
        # a block without those before it can't be found: the beginning is the last to go
        for key in reversed(keys):
            self._blocks.move_to_end(key)

    def clear(self) -> None:
        """Forget everything."""
        self._blocks.clear()
