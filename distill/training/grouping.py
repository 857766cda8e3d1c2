"""Rows of a batch that begin alike are computed behind one copy of their beginning.

Rows of an agent share their instructions and worked examples: most of a row is the same in many.
Only what is computed once is decided here; loss.py shows that the loss stays the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """Rows, by index, whose first `prefix` tokens are equal and are computed once."""

    rows: tuple[int, ...]
    prefix: int


def group(
    ids: Sequence[Sequence[int]],
    first_trained: Sequence[int],
    *,
    least: int = 32,
    pass_tokens: int = 4096,
) -> list[Group]:
    """Every row in one group, so that few tokens are computed in all.

    A shared beginning has at least `least` tokens and ends before the token that predicts the
    first trained one of any of its rows (`first_trained` are their indices). A group computes at
    most `pass_tokens` tokens, a single row more where it is longer.
    """
    order = sorted(range(len(ids)), key=lambda row: tuple(ids[row]))
    groups: list[Group] = []
    for row in order:
        bound = first_trained[row] - 1
        if groups:
            last = groups[-1]
            shared = min(_alike(ids[last.rows[0]], ids[row]), bound)
            so_far = last.prefix if len(last.rows) > 1 else _reach(last, first_trained)
            prefix = min(shared, so_far)
            rows = (*last.rows, row)
            saved, before = (len(rows) - 1) * prefix, (len(last.rows) - 1) * last.prefix
            computed = prefix + sum(len(ids[r]) - prefix for r in rows)
            if prefix >= least and saved > before and computed <= pass_tokens:
                groups[-1] = Group(rows, prefix)
                continue
        groups.append(Group((row,), 0))
    return groups


def _reach(single: Group, first_trained: Sequence[int]) -> int:
    return first_trained[single.rows[0]] - 1


def _alike(left: Sequence[int], right: Sequence[int]) -> int:
    """How many leading tokens are equal."""
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return index
    return min(len(left), len(right))
