"""The arms beside a run of two rounds at the desk."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evener.agents.record.registry import Registry
from evener.agents.record.run import RunFolder
from evener.evaluate import evaluate
from evener.matrix.history import History
from evener.matrix.run import choose, expected, matrix
from evener.matrix.table import ARMS
from evener.parts import Parts
from evener.progress import Silent
from evener.protocols.error import ConfigError
from evener.protocols.summary import Arm, Control, Effect, Summary
from evener.protocols.task import Purpose, Split
from evener.protocols.trajectory import Trajectory
from evener.report.whole import summarize

Crew = Callable[[], Parts]


class Listener(Silent):
    """Remembers what was said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


async def arms(run: Path, parts: Parts, *only: str, versions: bool = False) -> list[str]:
    parts.progress = listener = Listener()
    await matrix(run, only=only, versions=versions, parts=parts)
    return listener.said


def bodies(run: Path, kind: str) -> list[dict[str, Any]]:
    with RunFolder.read(run) as folder:
        return [dict(body) for body in folder.record.bodies(kind)]


def cells(run: Path) -> dict[tuple[str, str], dict[str, Any]]:
    return {(body["name"], body["split"]): body for body in bodies(run, "cell")}


def episodes(run: Path) -> int:
    with RunFolder.read(run) as folder:
        return sum(1 for _ in folder.record.trajectories())


async def test_every_model_is_scored_under_every_harness_and_known_pairs_are_free(
    run: Path, crew: Crew
) -> None:
    before, parts = episodes(run), crew()
    await arms(run, parts, "versions")
    found = cells(run)
    for model in ("base", "trained_1"):
        for harness in ("seed", "evolved_1"):
            assert (f"{model}+{harness}", "test") in found
    history = History.read(run)
    if list(history.harnesses) == ["seed", "evolved_1"]:
        assert episodes(run) == before
        assert parts.model.asked == 0  # type: ignore[union-attr]
        same = found["trained_1+evolved_1", "test"]["episodes"]
        assert same == found["trained+evolved", "test"]["episodes"]


async def test_arms_are_run_on_the_tasks_and_the_seed_of_the_runs_own_cells(
    run: Path, crew: Crew
) -> None:
    await arms(run, crew(), "votes", "trained_seed")
    found = cells(run)
    with RunFolder.read(run) as folder:

        def tasks(name: str) -> list[tuple[str, int]]:
            digests = found[name, "test"]["episodes"]
            bodies = [folder.record.get(Trajectory, digest) for digest in digests]
            return [(body.task.id, body.key.seed) for body in bodies]

        own = tasks("base+seed")
        assert tasks("base+seed@best3") == own
        assert tasks("trained_seed+seed") == own
        assert tasks("trained_seed+evolved") == own


async def test_votes_make_at_least_the_calls_of_what_they_stand_against(
    run: Path, crew: Crew
) -> None:
    await arms(run, crew(), "votes")
    found = cells(run)
    history = History.read(run)
    one = found["base+seed@best3", "test"]
    assert {(name, "test") for name in ("base+seed@majority3", "base+seed@pass3")} <= found.keys()
    assert len(one["spent"]) == 3 * len(one["episodes"])
    assert set(one["episodes"]) <= set(one["spent"])
    (arm,) = (Arm.model_validate(body) for body in bodies(run, "arm"))
    assert arm.calls_per_task is not None
    assert arm.calls_per_task >= history.calls["trained+evolved"]
    with RunFolder.read(run) as folder:
        keys = [folder.record.get(Trajectory, digest).key for digest in one["spent"]]
    assert {key.temperature for key in keys} == {0.7}
    assert {key.attempt for key in keys} == {1, 2, 3}


async def test_training_alone_stays_within_what_the_run_spent(run: Path, crew: Crew) -> None:
    history, parts = History.read(run), crew()
    await arms(run, parts, "trained_seed")
    (arm,) = (Arm.model_validate(body) for body in bodies(run, "arm"))
    assert (arm.rollout_limit, arm.token_limit) == (
        history.rollouts(),
        sum(history.trained_tokens.values()),
    )
    # most kinds are never solved under the seed harness: three more passes are enough to see it
    tasks, solved = 24, 4
    assert arm.rollouts == tasks + 3 * (tasks - solved) < arm.rollout_limit
    assert arm.note.startswith(f"{solved} tasks solved in collection")
    assert "3 passes in a row solved nothing more" in arm.note
    assert 0 < arm.trained_tokens <= arm.token_limit
    ((name, rows, tokens, harness),) = parts.tuner.lessons  # type: ignore[union-attr]
    assert (name, harness) == ("trained_seed", "storefront-seed")
    assert (rows > 0, tokens) == (True, arm.trained_tokens)
    with RunFolder.read(run) as folder:
        seed = history.seed.digest
        rows_ = list(folder.record.trajectories(purpose=Purpose.COLLECT, harness=seed))
    assert {row.split for row in rows_} == {Split.MINE}
    assert {row.model for row in rows_} == {history.base.revision}
    assert {("trained_seed+seed", "ood"), ("trained_seed+evolved", "test")} <= cells(run).keys()


async def test_the_model_trained_alone_can_be_evaluated_by_its_name(run: Path, crew: Crew) -> None:
    await arms(run, crew(), "trained_seed")
    cell, _ = await evaluate(
        run,
        version="v0",
        model="trained_seed",
        split=Split.HELD_OUT,
        count=3,
        seed=0,
        parts=crew(),
    )
    assert cell.model.endswith("+trained_seed")


async def test_what_an_accepted_version_is_worth_is_measured_without_it(
    run: Path, crew: Crew
) -> None:
    await arms(run, crew(), "effects")
    found = [Effect.model_validate(body) for body in bodies(run, "effect")]
    assert [effect.version for effect in found][:1] == ["v1"]
    first = found[0]
    assert (first.n, first.split, first.fault) == (60, "held_out", "")
    assert first.difference is not None
    assert first.difference > 0.3  # the skills that the desk needs for three quarters of its tasks
    assert first.redundant is False


async def test_the_gate_is_asked_where_nothing_is_to_be_found(run: Path, crew: Crew) -> None:
    verdicts = len(bodies(run, "verdict"))
    await arms(run, crew(), "controls")
    found = {body["name"]: Control.model_validate(body) for body in bodies(run, "control")}
    same, flips = found["A/A"], found["sign flips"]
    assert (same.trials, same.temperature) == (2, 0.3)
    assert same.pairs > 0
    assert same.accepted == 0
    assert flips.trials >= 1000
    assert len(bodies(run, "verdict")) == verdicts  # a control is no verdict of the run


async def test_a_search_at_random_keeps_to_the_rollouts_of_the_first_search(
    run: Path, crew: Crew
) -> None:
    await arms(run, crew(), "random")
    history = History.read(run)
    (arm,) = (Arm.model_validate(body) for body in bodies(run, "arm"))
    assert arm.rollout_limit == history.rollouts("search", "confirm", rounds=(1,))
    assert 0 < arm.rollouts <= arm.rollout_limit + history.config.plan.trials.rollouts
    assert {("base+random", "test"), ("base+evolved_1", "test")} <= cells(run).keys()
    nested = run / "arms" / "random"
    authors = {r.proposal.author for r in Registry(nested / "harness").not_accepted().values()}
    assert authors <= {"random"}
    with RunFolder.read(nested) as folder:
        assert folder.state in ("finished", "budget")
        assert not list(folder.record.trajectories(purpose=Purpose.COLLECT))


async def test_the_second_search_is_made_again_without_new_weights(run: Path, crew: Crew) -> None:
    await arms(run, crew(), "counterfactual")
    found = cells(run)
    for name in ("trained_1+counterfactual_2", "base+counterfactual_2", "trained_1+evolved_2"):
        assert (name, "test") in found
    with RunFolder.read(run / "arms" / "counterfactual") as folder:
        assert not list(folder.record.trajectories(purpose=Purpose.COLLECT))
        assert {row.model for row in folder.record.trajectories()} == {
            History.read(run).base.revision
        }
        mined = [
            folder.record.get(Trajectory, row.trajectory).usage
            for row in folder.record.trajectories(purpose=Purpose.MINE)
        ]
    # what the run was answered in its first round is not paid for again
    assert sum(usage.cached_calls for usage in mined) > sum(usage.calls for usage in mined)


async def test_what_a_run_beside_the_run_cost_is_counted_with_it(run: Path, crew: Crew) -> None:
    await arms(run, crew(), "random")
    with RunFolder.read(run) as folder, RunFolder.read(run / "arms" / "random") as inner:
        own, more = folder.cpu_seconds(), inner.cpu_seconds()
        assert more > 0
        assert summarize(folder).budget.cpu_seconds == pytest.approx(own + more, abs=0.2)


async def test_a_second_matrix_pays_nothing_and_writes_nothing_new(run: Path, crew: Crew) -> None:
    first = await arms(run, crew(), versions=True)
    kinds = ("cell", "arm", "effect", "control", "arm_model")
    before, log = episodes(run), {kind: len(bodies(run, kind)) for kind in kinds}
    inner = episodes(run / "arms" / "random")
    summary = (run / "summary.json").read_text()
    parts = crew()
    second = await arms(run, parts, versions=True)
    assert parts.model.asked == 0  # type: ignore[union-attr]
    assert parts.tuner.lessons == []  # type: ignore[union-attr]
    assert episodes(run) == before
    assert episodes(run / "arms" / "random") == inner
    assert {kind: len(bodies(run, kind)) for kind in kinds} == log
    found = tuple(f"{name}: " for name in ARMS)
    assert [s for s in second if s.startswith(found)] == [s for s in first if s.startswith(found)]
    again = Summary.model_validate_json((run / "summary.json").read_text())
    whole = Summary.model_validate_json(summary)
    assert (again.state, again.cells) == (whole.state, whole.cells) == ("finished", again.cells)
    assert {cell.name for cell in whole.cells} >= {"base+random", "trained_seed+seed"}


async def test_arms_that_do_not_apply_say_so_in_a_line(frozen: Path, crew: Crew) -> None:
    said = await arms(frozen, crew(), "trained_seed", "counterfactual")
    assert said == [
        "trained_seed does not apply: the run trains no weights",
        "counterfactual does not apply: the run trains no weights",
    ]


async def test_the_estimate_comes_first_and_bounds_what_is_run(run: Path, crew: Crew) -> None:
    before = episodes(run)
    said = await arms(run, crew(), "votes", "effects")
    assert said[0].startswith("estimate: at most ")
    most = expected(History.read(run), ["effects", "votes"]).rollouts
    assert 0 < episodes(run) - before <= most
    assert said[1].startswith("arm 1 of 2, effects: ")


def test_an_arm_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(ConfigError, match=r"no arm 'vote'\. there are effects, votes"):
        choose(["vote"], versions=False)


def test_the_table_of_versions_is_made_where_it_is_asked_for() -> None:
    assert "versions" not in choose((), versions=False)
    assert choose((), versions=True) == list(ARMS)
    assert choose(["votes"], versions=True) == ["votes", "versions"]
