from evener.protocols.digest import JsonObject
from evener.protocols.event import Acted, CallRefused, Event, ParseFailed
from evener.protocols.message import Call
from evener.protocols.model import ModelRef, Usage
from evener.protocols.summary import Cell, Comparison
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Outcome, Score, Trajectory
from evener.report.cell import cell, compare
from evener.report.summarize import rows, sentence

MODEL = ModelRef(base="m", revision="r")


def episode(task: str, outcome: Outcome, *events: Event) -> Trajectory:
    value = {Outcome.SOLVED: 1.0, Outcome.INFRA: None}.get(outcome, 0.0)
    key = EpisodeKey(
        task=task, prompt_digest="p", harness="h", model="r", purpose=Purpose.EVALUATE, seed=0
    )
    return Trajectory(
        id=key.id(),
        key=key,
        task=Task(id=task, split=Split.TEST, prompt="?"),
        model=MODEL,
        messages=(),
        events=events,
        outcome=outcome,
        score=Score(value=value, verdict="error" if value is None else "correct"),
        usage=Usage(calls=2, cached_calls=1, completion_tokens=5),
    )


def figures(*episodes: Trajectory) -> Cell:
    return cell(episodes, name="c", model="m", harness="v0", split="test", seed=3, cpu_seconds=1.5)


def test_infra_counts_against_coverage_and_never_as_a_wrong_answer() -> None:
    found = figures(
        episode("a", Outcome.SOLVED), episode("b", Outcome.FAILED), episode("c", Outcome.INFRA)
    )
    assert (found.n, found.solved, found.rate) == (2, 1, 0.5)
    assert found.coverage == 2 / 3
    assert (found.calls, found.tokens) == (6, 10)


def test_the_tool_error_rate_counts_unreadable_refused_and_failed_calls() -> None:
    call = Call(name="x")
    events: tuple[Event, ...] = (
        Acted(turn=0, tool="x", call=call, observation="1"),
        Acted(turn=1, tool="x", call=call, observation="no", error_kind="unknown"),
        CallRefused(turn=2, call=call, reason="unknown_tool", detail="no"),
        ParseFailed(turn=3, fault="invalid_json", detail="no"),
    )
    assert figures(episode("a", Outcome.FAILED, *events)).tool_error_rate == 0.75


def test_cells_are_compared_on_the_tasks_that_both_scored() -> None:
    found = compare(
        {
            "a": [episode("1", Outcome.SOLVED), episode("2", Outcome.INFRA)],
            "b": [episode("1", Outcome.FAILED), episode("2", Outcome.SOLVED)],
        },
        "a",
        "b",
        split="test",
        seed=0,
    )
    assert (found.n, found.difference) == (1, 1.0)


def claim(low: float, high: float) -> str:
    cells = [
        Cell(
            name=name, model="m", harness="v", split="test", n=60, solved=30, rate=0.5, low=0.4,
            high=0.6, coverage=1.0, tool_error_rate=0.0, calls=1, tokens=1, cpu_seconds=1.0, seed=0,
        )
        for name in ("base+seed", "base+evolved")
    ]  # fmt: skip
    against = Comparison(
        a="base+evolved",
        b="base+seed",
        split="test",
        difference=(low + high) / 2,
        low=low,
        high=high,
        n=60,
    )
    return sentence(cells, [against])


def test_a_gain_is_claimed_only_where_the_interval_is_clear_of_zero() -> None:
    assert "a gain" in claim(0.01, 0.3)
    assert "chance" in claim(0.0, 0.3)
    assert "chance" in claim(-0.2, 0.2)
    assert "a loss" in claim(-0.3, -0.01)


def test_nothing_scored_is_nothing_compared() -> None:
    nothing = compare({"a": [], "b": []}, "a", "b", split="test", seed=0)
    cells = [figures().model_copy(update={"name": n}) for n in ("base+seed", "base+evolved")]
    against = nothing.model_copy(update={"a": "base+evolved", "b": "base+seed"})
    assert "nothing to compare" in sentence(cells, [against])


def test_a_sentence_without_a_sealed_test_claims_nothing() -> None:
    assert sentence([], []) == "The sealed test was not run."


def test_rows_of_a_resumed_round_count_once() -> None:
    first: JsonObject = {"round": 1, "rows": 9, "refused": {"infra": 2}}
    second: JsonObject = {"round": 2, "rows": 4, "refused": {"infra": 1, "truncated": 3}}
    found = rows([first, first, second])
    assert found.accepted == 13
    assert found.refused == {"infra": 3, "truncated": 3}


def test_the_sentence_says_when_the_gate_did_not_accept_the_model() -> None:
    from evener.protocols.summary import VerdictLine
    from evener.protocols.verdict import Ruling

    figure = {
        "model": "m", "harness": "v", "split": "test", "n": 60, "solved": 30, "rate": 0.5,
        "low": 0.4, "high": 0.6, "coverage": 1.0, "tool_error_rate": 0.0, "calls": 1, "tokens": 1,
        "cpu_seconds": 1.0, "seed": 0,
    }  # fmt: skip
    cells = [Cell.model_validate({"name": n, **figure}) for n in ("base+seed", "trained+evolved")]
    against = Comparison(
        a="trained+evolved", b="base+seed", split="test", difference=0.2, low=0.1, high=0.3, n=60
    )
    for ruling, said in ((Ruling.REJECT, True), (Ruling.ACCEPT, False)):
        line = VerdictLine(
            round=1, iteration=0, patch="m+m1", kind="model", author="trainer", outcome=ruling,
            delta_in=0.0, delta_out=0.0, n_in=1, n_out=1, coverage=1.0, rollouts=4,
        )  # fmt: skip
        assert ("did not accept m+m1" in sentence(cells, [against], [line])) is said
