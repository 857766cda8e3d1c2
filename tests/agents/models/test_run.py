from hypothesis import given
from hypothesis import strategies as st

from evener.agents.models.local.attention import Run
from evener.agents.models.local.run import common_length, runs_of

A, B = [1] * 100, [2] * 80


def test_neighbours_that_begin_alike_are_one_run() -> None:
    prompts = [[*A, n] for n in range(3, 7)] + [[*B, n] for n in range(3, 8)]
    assert runs_of(prompts) == [Run(0, 4, 100), Run(4, 9, 80)]


def test_a_common_beginning_of_different_tasks_is_not_cut_for_an_outsider() -> None:
    prompts = [[*A, 3], [*A, 4], [*A, 5], A[:70] + [6] * 40]
    assert runs_of(prompts) == [Run(0, 3, 100), Run(3, 4, 0)]


def test_too_few_rows_or_too_short_a_beginning_is_not_shared() -> None:
    assert runs_of([[*A, 3], [*A, 4], B, [5], [5]]) == [Run(0, 5, 0)]
    assert runs_of([]) == []


PROMPTS = st.lists(st.integers(0, 1), max_size=90).map(lambda tail: A[:70] + tail)


@given(st.lists(PROMPTS, max_size=8))
def test_runs_cover_all_rows_and_share_only_what_is_equal(prompts: list[list[int]]) -> None:
    runs = runs_of(prompts)
    assert [n for run in runs for n in range(run.first, run.last)] == list(range(len(prompts)))
    for run in runs:
        begin = prompts[run.first][: run.columns]
        assert all(prompts[n][: run.columns] == begin for n in range(run.first, run.last))


@given(st.lists(st.integers(0, 1)), st.lists(st.integers(0, 1)), st.integers(0, 20))
def test_the_common_length_is_where_prompts_first_differ(
    one: list[int], other: list[int], limit: int
) -> None:
    expected = 0
    for a, b in zip(one[:limit], other[:limit], strict=False):
        if a != b:
            break
        expected += 1
    assert common_length(one, other, limit=limit) == expected
