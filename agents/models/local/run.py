"""Which neighbours in a batch begin alike, so that attention can read that beginning once."""

from collections.abc import Sequence

from evener.agents.models.local.attention import Run

_LEAST_ROWS = 3
_LEAST_COLUMNS = 64


def runs_of(prompts: Sequence[list[int]]) -> list[Run]:
    """Runs that cover all rows in order; `columns` 0 where sharing is not worth its overhead."""
    runs: list[Run] = []
    first = 0
    while first < len(prompts):
        last, columns = first + 1, len(prompts[first])
        while last < len(prompts):
            common = common_length(prompts[first], prompts[last], limit=columns)
            # a row that shares much less than the others would shorten it for all of them
            if common < _LEAST_COLUMNS or (last > first + 1 and 4 * common < 3 * columns):
                break
            last, columns = last + 1, common
        worth = last - first >= _LEAST_ROWS
        if not worth and runs and runs[-1].columns == 0:
            runs[-1] = Run(runs[-1].first, last, 0)
        else:
            runs.append(Run(first, last, columns if worth else 0))
        first = last
    return runs


def common_length(one: list[int], other: list[int], *, limit: int) -> int:
    """How many leading tokens two prompts share, at most `limit`."""
    low, high = 0, min(len(one), len(other), limit)
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
