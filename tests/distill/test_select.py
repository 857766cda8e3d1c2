from evener.distill.select import select
from evener.protocols.harness import Harness
from evener.protocols.model import Usage
from evener.protocols.trajectory import Outcome, Trajectory


def changed(episode: Trajectory, **changes: object) -> Trajectory:
    return episode.model_copy(update=changes)


def test_only_solved_episodes_are_taught_and_each_reason_is_counted(
    solved: list[Trajectory],
) -> None:
    given = [
        solved[0],
        changed(solved[1], outcome=Outcome.FAILED),
        changed(solved[2], outcome=Outcome.INFRA),
        changed(solved[3], outcome=Outcome.TRUNCATED),
    ]
    chosen = select(given)
    assert chosen.episodes == (solved[0],)
    assert chosen.refused == {"not_solved": 1, "infra": 1, "truncated": 1}


def test_of_one_task_the_earliest_attempt_is_kept_then_the_shortest(
    solved: list[Trajectory],
) -> None:
    first = solved[0]
    again = changed(first, key=first.key.model_copy(update={"attempt": 1}), id="again")
    longer = changed(first, usage=Usage(calls=2, completion_tokens=999), id="longer")
    chosen = select([again, longer, first, solved[1]])
    assert chosen.episodes == (first, solved[1])
    assert chosen.refused == {"other_run_of_task": 2}
    assert select([again, longer, first], per_task=2).episodes == (first, longer)


def test_all_keeps_failed_episodes_behind_solved_ones_and_never_infra_or_truncated(
    solved: list[Trajectory],
) -> None:
    failed = changed(solved[1], outcome=Outcome.FAILED)
    # an earlier attempt that failed makes no room for itself
    before = changed(solved[0], outcome=Outcome.FAILED, id="before")
    after = changed(solved[0], key=solved[0].key.model_copy(update={"attempt": 1}))
    given = [
        before,
        after,
        failed,
        changed(solved[2], outcome=Outcome.INFRA),
        changed(solved[3], outcome=Outcome.TRUNCATED),
    ]
    chosen = select(given, keep="all")
    assert chosen.episodes == (after, failed)
    assert chosen.refused == {"other_run_of_task": 1, "infra": 1, "truncated": 1}
    assert select(given, keep="all", per_task=2).episodes == (after, before, failed)
    assert select(given).refused["not_solved"] == 2


def test_nothing_selected_is_an_empty_selection(desk: Harness) -> None:
    assert select([]).episodes == ()
