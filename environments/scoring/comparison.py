"""Which items of two answers have to be equal for the answers to be, and what follows from them.

The gold's shape decides: a set in any order and whole, a tuple in order, an interval with its
brackets. What is known of some pairs may settle all of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from evener.environments.scoring.shape import Form

Pair = tuple[str, str]

MOST_OVER = 8
"""An answer may say a value of the gold in so many ways, and no more."""


@dataclass(frozen=True)
class Comparison:
    """`rows` has a row for each item that must find a partner; it finds one where any pair of the
    row is equal."""

    rows: tuple[tuple[Pair, ...], ...]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Every pair once."""
        return tuple(dict.fromkeys(pair for row in self.rows for pair in row))

    def settled(self, equal: Mapping[Pair, bool]) -> bool | None:
        """Whether the answers are equal, None while pairs that matter are missing."""
        if any(all(equal.get(pair) is False for pair in row) for row in self.rows):
            return False
        return True if all(any(equal.get(pair) for pair in row) for row in self.rows) else None


def compare(gold: Form, answer: Form) -> Comparison | None:
    """What to compare; None where the answer has another shape than the gold asks for."""
    match gold.kind:
        case "text":
            return _whole(gold, answer)
        case "value" if answer.kind == "set" and len(answer.items) > 1:
            return None
        case "value" if answer.kind in ("tuple", "interval"):
            # an inequality may be answered by an interval
            return _whole(gold, answer)
        case "value":
            return _ordered(gold, answer)
        case "set":
            return _set(gold, answer)
        case "tuple" | "interval":
            if answer.kind == "value" or answer.kind == "text":
                return _whole(gold, answer)
            bare = gold.kind == "tuple" and answer.kind == "set" and not _braces(answer)
            fits = gold.brackets == answer.brackets or bare
            same_length = len(gold.items) == len(answer.items)
            return _ordered(gold, answer) if fits and same_length else None


def _whole(gold: Form, answer: Form) -> Comparison:
    return Comparison((((gold.whole, answer.whole),),))


def _ordered(gold: Form, answer: Form) -> Comparison:
    return Comparison(tuple(((g, a),) for g, a in zip(gold.items, answer.items, strict=True)))


def _set(gold: Form, answer: Form) -> Comparison | None:
    if answer.kind == "interval" or (len(answer.items) == 1 and len(gold.items) > 1):
        return None
    if len(answer.items) > MOST_OVER * len(gold.items):
        return None  # one that names so much names the gold by chance
    each_gold = tuple(tuple((g, a) for a in answer.items) for g in gold.items)
    each_answer = tuple(tuple((g, a) for g in gold.items) for a in answer.items)
    return Comparison((*each_gold, *each_answer))


def _braces(form: Form) -> bool:
    return form.whole.startswith("\\{")
