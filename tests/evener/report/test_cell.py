from collections.abc import Callable

from evener.protocols.event import Acted, CallRefused, Event, ParseFailed
from evener.protocols.message import Call
from evener.protocols.summary import Cell
from evener.protocols.trajectory import Outcome, Trajectory
from evener.report.cell import cell, difference, rewards

New = Callable[..., Trajectory]


def figures(*episodes: Trajectory) -> Cell:
    return cell(episodes, name="c", model="m", harness="v0", split="test", seed=3, cpu_seconds=1.5)


def test_infra_counts_against_coverage_and_never_as_a_wrong_answer(new_episode: New) -> None:
    found = figures(
        new_episode("a", Outcome.SOLVED),
        new_episode("b", Outcome.FAILED),
        new_episode("c", Outcome.INFRA),
    )
    assert (found.n, found.solved, found.rate) == (2, 1, 0.5)
    assert found.coverage == 2 / 3
    assert (found.calls, found.tokens) == (6, 10)


def test_the_tool_error_rate_counts_unreadable_refused_and_failed_calls(new_episode: New) -> None:
    call = Call(name="x")
    events: tuple[Event, ...] = (
        Acted(turn=0, tool="x", call=call, observation="1"),
        Acted(turn=1, tool="x", call=call, observation="no", error_kind="unknown"),
        CallRefused(turn=2, call=call, reason="unknown_tool", detail="no"),
        ParseFailed(turn=3, fault="invalid_json", detail="no"),
    )
    assert figures(new_episode("a", Outcome.FAILED, *events)).tool_error_rate == 0.75


def test_cells_are_compared_on_the_tasks_that_both_scored(new_episode: New) -> None:
    found = difference(
        {
            "a": rewards([new_episode("1", Outcome.SOLVED), new_episode("2", Outcome.INFRA)]),
            "b": rewards([new_episode("1", Outcome.FAILED), new_episode("2", Outcome.SOLVED)]),
        },
        "a",
        "b",
        split="test",
        seed=0,
    )
    assert (found.n, found.difference) == (1, 1.0)
