"""The arms beside a distillation at the desk."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from evener.agents.plan import Evaluation, Plan, Training
from evener.agents.record.run import RunFolder
from evener.config import DistillConfig, RunConfig
from evener.distillation import Distillation
from evener.matrix.distilled import Distilled
from evener.matrix.equal_votes import tries
from evener.matrix.run import matrix
from evener.parts import Parts
from evener.progress import Silent
from evener.protocols.error import ConfigError, RunError
from evener.protocols.model import ModelRef
from evener.protocols.summary import Arm, Reviews, Summary
from evener.protocols.task import Purpose
from evener.protocols.trajectory import Trajectory
from evener.protocols.wire import ModelTrained
from evener.report.text import render

Crew = Callable[[], Parts]
ARMS = ("recipe", "votes", "flagged", "reviewed", "always")


class Listener(Silent):
    """Remembers what was said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


class Idle:
    """A fine-tuner that finds no row to train on."""

    async def train(self, *_: Any, base: ModelRef, **__: Any) -> ModelTrained:
        return ModelTrained(model=None, rows=0, reason="nothing_to_train: 0 rows")


def small(**distill: Any) -> RunConfig:
    return RunConfig(
        plan=Plan(
            training=Training(collect_tasks=12, resamples=1),
            evaluation=Evaluation(test_tasks=12, ood_tasks=3),
        ),
        distill=DistillConfig(replicate_tasks=0, control=False, **distill),
    )


def distil(config: RunConfig, out: Path, parts: Parts) -> Path:
    async def whole() -> None:
        async with Distillation.open(config, out, parts=parts) as team:
            await team.run()

    asyncio.run(whole())
    return out


@pytest.fixture(scope="module")
def done(crew: Crew, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A distillation, made once and never written to."""
    return distil(small(), tmp_path_factory.mktemp("distilled") / "run", crew())


@pytest.fixture(scope="module")
def whole(done: Path, crew: Crew, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Parts]:
    """A copy of it with all its arms, and the parts that made them."""
    run = Path(shutil.copytree(done, tmp_path_factory.mktemp("armed") / "run"))
    parts = crew()
    parts.progress = Listener()
    asyncio.run(matrix(run, parts=parts))
    return run, parts


@pytest.fixture
def run(done: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(done, tmp_path / "run"))


def arms(run: Path, parts: Parts, *only: str) -> list[str]:
    parts.progress = listener = Listener()
    asyncio.run(matrix(run, only=only, parts=parts))
    return listener.said


def summary_of(run: Path) -> Summary:
    return Summary.model_validate_json((run / "summary.json").read_text("utf-8"))


def bodies(run: Path, kind: str) -> list[dict[str, Any]]:
    with RunFolder.read(run) as folder:
        return [dict(body) for body in folder.record.bodies(kind)]


def episodes(run: Path, name: str, split: str = "test") -> list[Trajectory]:
    last = [b for b in bodies(run, "cell") if (b["name"], b["split"]) == (name, split)][-1]
    with RunFolder.read(run) as folder:
        return [folder.record.get(Trajectory, digest) for digest in last["episodes"]]


def test_every_arm_is_scored_on_the_tasks_and_the_seed_of_the_runs_own_cells(
    whole: tuple[Path, Parts],
) -> None:
    run, _ = whole
    own = episodes(run, "base+target")
    keys = [(e.task.id, e.key.seed, e.key.purpose) for e in own]
    harness = {e.key.harness for e in own}
    for name in (
        "base+reviewed",
        "base+reviewed_empty",
        "base+reviewed_flagged",
        "base+recipe",
        "recipe+target",
        "base+target@best1",
        "base+target@pass1",
    ):
        found = episodes(run, name)
        assert [(e.task.id, e.key.seed, e.key.purpose) for e in found] == keys, name
        assert {e.key.harness for e in found} == harness, name
        assert {e.key.temperature for e in found} == {0.0}, name
    assert keys[0][2] is Purpose.EVALUATE
    splits = {cell.name for cell in summary_of(run).cells if cell.split == "ood"}
    assert {"recipe+target", "base+recipe"} <= splits
    assert "base+reviewed" not in splits


def test_review_has_a_line_of_its_own_for_each_cell_and_for_collection(
    done: Path, whole: tuple[Path, Parts]
) -> None:
    run, _ = whole
    lines = {line.served: line for line in summary_of(run).reviews}
    assert list(lines) == [
        "collection",
        "recipe+target",
        "base+recipe",
        "base+reviewed_flagged",
        "base+reviewed",
        "base+reviewed_empty",
    ]
    (before,) = summary_of(done).reviews
    assert lines["collection"] == before
    # the same reviewer was asked for both, and they are counted apart
    assert lines["collection"].reviewer == lines["base+reviewed"].reviewer
    assert lines["base+reviewed"].reviewer != lines["base+reviewed_empty"].reviewer
    always, flagged = lines["base+reviewed"], lines["base+reviewed_flagged"]
    assert always.reviewed == always.candidates
    assert 0 < flagged.reviewed < flagged.candidates
    assert 0 < flagged.calls < always.calls
    assert always.replaced > 0
    assert "base+reviewed_flagged" in render(summary_of(run))


def test_the_calls_of_an_arm_under_review_hold_the_reviewers(whole: tuple[Path, Parts]) -> None:
    run, _ = whole
    found = {arm.name: arm for arm in summary_of(run).arms}
    line = _line(run, "base+reviewed")
    own = sum(e.usage.made for e in episodes(run, "base+reviewed"))
    assert found["base+reviewed"].calls_per_task == pytest.approx((own + line.calls) / 12)
    assert f"{line.reviewed} of {line.candidates} responses" in found["base+reviewed"].note


def _line(run: Path, served: str) -> Reviews:
    return next(line for line in summary_of(run).reviews if line.served == served)


def test_the_recipe_rules_solve_nothing_where_the_student_says_nothing(
    whole: tuple[Path, Parts],
) -> None:
    run, _ = whole
    alone = {(c.name, c.split): c for c in summary_of(run).cells}["recipe+target", "test"]
    assert (alone.n, alone.solved, alone.calls, alone.tokens) == (12, 0, 0, 0)
    assert alone.model == "scripted:silent"
    line = _line(run, "recipe+target")
    assert line.candidates > 0
    assert line.replaced == 0
    said = [m.content for e in episodes(run, "recipe+target") for m in e.messages if m.sampled]
    assert set(said) == {""}


def test_the_trained_student_stands_against_every_arm(whole: tuple[Path, Parts]) -> None:
    against = {(c.a, c.b) for c in summary_of(whole[0]).comparisons if c.split == "test"}
    for other in ("base+reviewed", "recipe+target", "base+recipe", "base+target@best1"):
        assert ("trained+target", other) in against
    for other in ("base+target", "base+reviewed_empty", "base+reviewed_flagged"):
        assert ("base+reviewed", other) in against


def test_one_try_is_the_greedy_one_and_costs_nothing(whole: tuple[Path, Parts]) -> None:
    run, _ = whole
    history = Distilled.read(run)
    assert tries(history, "target") == 1
    assert episodes(run, "base+target@best1") == episodes(run, "base+target")
    names = {arm.name: arm for arm in summary_of(run).arms}
    assert names["votes of base+target"].note.startswith("n = 1, greedy")


def test_as_many_tries_as_the_trained_student_makes_calls(run: Path, crew: Crew) -> None:
    with RunFolder.change(run) as folder:
        # as if base had made few calls and the trained student many
        (cell,) = [
            body
            for body in folder.record.bodies("cell")
            if (body["name"], body["split"]) == ("base+target", "test")
        ]
        made = _calls(folder, cell)
        short: list[JsonValue] = [d for d, calls in made.items() if calls == min(made.values())]
        long: list[JsonValue] = [d for d, calls in made.items() if calls > min(made.values())]
        folder.record.append("cell", {**cell, "episodes": short})
        folder.record.append("cell", {**cell, "name": "trained+target", "episodes": long})
    history = Distilled.read(run)
    n = tries(history, "target")
    assert n == 2
    said = arms(run, crew(), "votes")
    assert f"n = {n} episodes a task at temperature 0.7" in said[-1]
    (body,) = [b for b in bodies(run, "cell") if b["name"] == "base+target@best2"]
    assert len(body["spent"]) == 2 * len(body["episodes"])
    (arm,) = [Arm.model_validate(b) for b in bodies(run, "arm") if "target" in b["name"]]
    assert f"trained+target makes {history.calls['trained+target']:.2f} calls" in arm.note
    names = {b["name"] for b in bodies(run, "cell")}
    assert {"base+target@pass2", "base+target@majority2"} <= names
    assert f"base+optimized@best{tries(history, 'optimized')}" in names
    with RunFolder.read(run) as folder:
        spent = [folder.record.get(Trajectory, digest).key for digest in body["spent"]]
    assert {key.attempt for key in spent} == {1, 2}
    assert {key.temperature for key in spent} == {0.7}


def _calls(folder: RunFolder, cell: Any) -> dict[str, int]:
    return {d: folder.record.get(Trajectory, d).usage.made for d in cell["episodes"]}


def test_a_second_matrix_pays_nothing_and_writes_nothing_new(
    whole: tuple[Path, Parts], crew: Crew
) -> None:
    run, first = whole
    kinds = ("cell", "arm", "review", "episode", "replicate", "trained", "detectors", "knowledge")
    log = {kind: len(bodies(run, kind)) for kind in kinds}
    before = summary_of(run)
    parts = crew()
    said = arms(run, parts)
    assert parts.model.asked == 0  # type: ignore[union-attr]
    assert {kind: len(bodies(run, kind)) for kind in kinds} == log
    assert isinstance(first.progress, Listener)
    assert said == first.progress.said
    after = summary_of(run)
    assert after.state == before.state == "finished"
    for field in ("cells", "comparisons", "reviews", "arms", "recovery", "verdict_sentence"):
        assert getattr(after, field) == getattr(before, field)


def test_the_run_goes_on_as_finished_after_its_arms(
    whole: tuple[Path, Parts], crew: Crew, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(whole[0], tmp_path / "run"))
    parts = crew()
    distil(small(), run, parts)
    assert parts.model.asked == 0  # type: ignore[union-attr]
    names = {cell.name for cell in summary_of(run).cells}
    assert {"trained+target", "base+reviewed", "recipe+target"} <= names


def test_the_estimate_comes_first_and_bounds_what_is_run(run: Path, crew: Crew) -> None:
    before = len(bodies(run, "episode"))
    said = arms(run, crew(), "recipe", "flagged")
    # two cells on 12 and 3 tasks, and two on 12
    assert said[0] == "estimate: at most 54 episodes (recipe 30, flagged 24)"
    assert len(bodies(run, "episode")) - before == 54
    assert said[1].startswith("arm 1 of 2, recipe: ")


def test_the_way_of_reviewing_that_the_run_did_not_use_stands_beside_it(
    run: Path, crew: Crew, tmp_path: Path
) -> None:
    assert arms(run, crew(), "always") == [
        "always does not apply: the run itself reviews so (always): that is base+reviewed"
    ]
    other = distil(small(review="flagged"), tmp_path / "flagged", crew())
    said = arms(other, crew(), "flagged", "always")
    assert said[0].startswith("flagged does not apply: the run itself reviews so (flagged)")
    always, own = _line(other, "base+reviewed_always"), _line(other, "base+reviewed")
    assert always.reviewed == always.candidates
    assert own.reviewed < own.candidates
    assert own.reviewer.startswith("flagged own")


def test_without_a_trained_student_the_votes_say_why_and_the_rest_is_measured(
    crew: Crew, tmp_path: Path
) -> None:
    parts = crew()
    parts.tuner = Idle()
    run = distil(small(), tmp_path / "run", parts)
    said = arms(run, crew(), "votes", "reviewed")
    assert said[0] == (
        "votes does not apply: there is no trained+target whose calls it could match "
        "(no model: nothing_to_train: 0 rows)"
    )
    names = {cell.name for cell in summary_of(run).cells}
    assert {"base+reviewed", "base+reviewed_empty"} <= names
    assert summary_of(run).state == "finished"


def test_a_reviewer_that_lets_everything_pass_has_no_arms_of_review(
    crew: Crew, tmp_path: Path
) -> None:
    run = distil(small(reviewer="passthrough"), tmp_path / "run", crew())
    said = arms(run, crew(), "reviewed", "flagged")
    assert said == [
        f"{name} does not apply: the run's reviewer lets everything pass"
        for name in ("flagged", "reviewed")
    ]


@pytest.mark.parametrize(
    ("only", "versions", "says"),
    [
        (["effects"], False, "no arm 'effects' beside a distillation"),
        (["review"], False, r"no arm 'review'\."),
        ([], True, "no arm 'versions' beside a distillation"),
    ],
)
def test_an_arm_of_another_kind_of_run_is_one_line_with_those_there_are(
    only: list[str], versions: bool, says: str, done: Path, crew: Crew
) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        asyncio.run(matrix(done, only=only, versions=versions, parts=crew()))
    assert f"there are {', '.join(ARMS)}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_distillation_that_is_not_over_has_no_arms(run: Path, crew: Crew) -> None:
    with RunFolder.change(run) as folder:
        folder.record.database.rows("UPDATE sessions SET state = 'interrupted'")
    with pytest.raises(RunError, match="the distillation is not over"):
        arms(run, crew())
