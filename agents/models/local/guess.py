"""What comes next, guessed from what came after the same tokens earlier in the same text.

Calls are written alike: after `{"name": "lookup"` stands what stood there in the last example. The
model checks every guess, and draws as it would have without one, so that a wrong guess costs time
and changes nothing. Source: Saxena 2023, "Prompt lookup decoding".
"""

from collections.abc import Sequence

GRAM = 3
"""Tokens that must agree before a guess."""


class Guesser:
    """The text of one row, and what its runs of `GRAM` tokens were last followed by."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self._tokens = list(tokens)
        self._after: dict[tuple[int, ...], int] = {}
        for end in range(GRAM, len(self._tokens)):
            self._after[tuple(self._tokens[end - GRAM : end])] = end

    def add(self, token: int) -> None:
        """One token more."""
        end = len(self._tokens)
        if end >= GRAM:
            self._after[tuple(self._tokens[end - GRAM : end])] = end
        self._tokens.append(token)

    def guess(self, most: int) -> list[int]:
        """At most so many tokens that may come next; none where the last ones were not seen
        before."""
        if most < 1 or len(self._tokens) < GRAM:
            return []
        start = self._after.get(tuple(self._tokens[-GRAM:]))
        return [] if start is None else self._tokens[start : start + most]
