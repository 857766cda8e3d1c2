"""`evener distill` over scripted parts: a clerk whose weights learn, reviewed by himself."""

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from evener.agents.plan import Evaluation, Plan, Training
from evener.agents.record.run import RunFolder
from evener.config import CriticConfig, DistillConfig, HarnessConfig, RoleModel, RunConfig
from evener.distill.settings import SftSettings
from evener.distillation import Distillation
from evener.environments.storefront import Storefront
from evener.parts import Parts
from evener.protocols.error import ConfigError, HarnessError, RunError
from evener.protocols.model import ModelRef
from evener.protocols.summary import Summary
from evener.protocols.task import Purpose, Split
from evener.protocols.trajectory import Trajectory
from evener.protocols.wire import ModelTrained

Crew = Callable[[], Parts]


def small(**distill: Any) -> RunConfig:
    return RunConfig(
        plan=Plan(
            training=Training(collect_tasks=20, resamples=1),
            evaluation=Evaluation(test_tasks=12, ood_tasks=3),
        ),
        distill=DistillConfig(replicate_tasks=12, **distill),
    )


def go(config: RunConfig, out: Path, parts: Parts) -> Summary:
    async def whole() -> Summary:
        async with Distillation.open(config, out, parts=parts) as team:
            return await team.run()

    return asyncio.run(whole())


@pytest.fixture(scope="module")
def done(crew: Crew, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("distilled") / "run"
    go(small(), out, crew())
    return out


def summary_of(run: Path) -> Summary:
    return Summary.model_validate_json((run / "summary.json").read_text("utf-8"))


def test_every_cell_that_tells_harness_from_weights_is_measured(done: Path) -> None:
    summary = summary_of(done)
    assert summary.state == "finished"
    assert (summary.critic, summary.gate, summary.rounds) == ("none", "none", 0)
    names = [cell.name for cell in summary.cells if cell.split == "test"]
    assert names == [
        "base+target",
        "base+optimized",
        "trained+target",
        "trained+optimized",
        "format+target",
    ]
    assert {cell.n for cell in summary.cells if cell.split == "test"} == {12}
    assert {cell.n for cell in summary.cells if cell.split == "ood"} == {3}
    (control,) = summary.arms
    assert (control.name, control.note) == ("format", "the action format alone")
    against = {(c.a, c.b) for c in summary.comparisons if c.split == "test"}
    assert ("trained+target", "base+optimized") in against
    assert summary.verdict_sentence.startswith("With the harness off, trained+target solves")


def test_only_what_is_collected_is_reviewed_and_trained_on(done: Path) -> None:
    with RunFolder.read(done) as folder:
        record = folder.record
        episodes = [record.get(Trajectory, row.trajectory) for row in record.trajectories()]
        reviewed = [e for e in episodes if e.key.review]
        collected = [e for e in episodes if e.key.purpose is Purpose.COLLECT]
        kinds = [entry.kind for entry in record.entries()]
    assert reviewed == collected
    assert collected
    assert {e.task.split for e in collected} == {Split.MINE}
    # nothing that chooses the patterns is made after the training
    assert kinds.index("detectors") < kinds.index("trained")
    (line,) = summary_of(done).reviews
    assert line.reviewer.startswith("own")
    assert 0 < line.replaced < line.reviewed == line.candidates
    assert line.calls


def test_replicate_b_has_seeds_of_its_own_on_the_tasks_of_replicate_a(done: Path) -> None:
    with RunFolder.read(done) as folder:
        record = folder.record
        found: dict[str, list[Trajectory]] = {"A": [], "B": []}
        arms: dict[str, set[str]] = {"A": set(), "B": set()}
        for body in record.bodies("replicate"):
            names: Any = body["episodes"]
            found[str(body["replicate"])] += [record.get(Trajectory, name) for name in names]
            arms[str(body["replicate"])].add(str(body["arm"]))
    assert arms["A"] == {"base+target", "base+optimized"}
    assert arms["B"] == arms["A"] | {"trained+target", "format+target"}
    seeds = {which: {e.key.seed for e in episodes} for which, episodes in found.items()}
    assert len(seeds["A"]) == len(seeds["B"]) == 1
    assert seeds["A"] != seeds["B"]
    tasks = {which: {e.task.id for e in episodes} for which, episodes in found.items()}
    assert tasks["A"] == tasks["B"]
    assert {e.key.temperature for which in "AB" for e in found[which]} == {0.3}


def test_a_run_is_not_gone_on_with_under_other_detectors(
    done: Path, crew: Crew, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(done, tmp_path / "run"))
    parts = crew()
    desk: Any = parts.environment
    desk.detectors = lambda: ()  # as if the environment had published others
    with pytest.raises(RunError, match="its detectors were others when it was begun"):
        go(small(), run, parts)
    model: Any = parts.model
    assert model.asked == 0


def test_arms_of_the_configuration_are_scored_on_the_base(crew: Crew, tmp_path: Path) -> None:
    config = small(control=False).model_copy(update={"harness": HarnessConfig(arms={"h": "hand"})})
    cells = go(config, tmp_path / "run", crew()).cells
    assert [cell.name for cell in cells if cell.harness == "h"] == ["base+h", "base+h"]


def test_recovery_has_a_line_for_every_detector_and_says_why_one_has_no_figure(done: Path) -> None:
    summary = summary_of(done)
    assert len(summary.recovery) > 30
    assert summary.recovery_means is not None
    assert len(summary.recovery_means.detectors) == 64
    assert all(line.note for line in summary.recovery if line.paper is None)


def test_going_on_asks_nobody_and_finds_the_same(done: Path, crew: Crew, tmp_path: Path) -> None:
    run = Path(shutil.copytree(done, tmp_path / "run"))
    before = summary_of(run)
    parts = crew()
    again = go(small(), run, parts)
    model: Any = parts.model
    assert model.asked == 0
    for field in ("comparisons", "recovery", "recovery_means", "reviews", "rows"):
        assert getattr(again, field) == getattr(before, field)
    # looking an episode up takes a little time too
    cells = [[c.model_copy(update={"cpu_seconds": 0}) for c in s.cells] for s in (again, before)]
    assert cells[0] == cells[1]


class Idle:
    """A fine-tuner that finds no row to train on."""

    async def train(self, *_: Any, base: ModelRef, **__: Any) -> ModelTrained:
        return ModelTrained(
            model=None, rows=0, refused={"not_solved": 20}, reason="nothing_to_train: 0 rows"
        )


def test_without_a_row_there_is_no_student_and_the_base_is_measured(
    crew: Crew, tmp_path: Path
) -> None:
    parts = crew()
    parts.tuner = Idle()
    summary = go(small(), tmp_path / "run", parts)
    assert summary.stop_reason == "no model: nothing_to_train: 0 rows"
    assert summary.rows.refused == {"not_solved": 20}
    assert {cell.name for cell in summary.cells} == {"base+target", "base+optimized"}
    assert summary.recovery == ()
    assert summary.verdict_sentence.startswith("Nothing was distilled: base+target solves")


def test_pass_through_and_an_empty_k_are_reviews_that_change_nothing(
    crew: Crew, tmp_path: Path
) -> None:
    quiet = small(reviewer="passthrough", control=False)
    (line,) = go(quiet, tmp_path / "a", crew()).reviews
    assert (line.replaced, line.calls) == (0, 0)
    empty = small(reviewer="recipe", knowledge="empty", control=False)
    (line,) = go(empty, tmp_path / "b", crew()).reviews
    assert line.replaced == 0


def test_flagged_review_asks_less_often(crew: Crew, tmp_path: Path) -> None:
    (line,) = go(small(review="flagged", control=False), tmp_path / "run", crew()).reviews
    assert line.reviewer.startswith("flagged own")
    assert line.reviewed < line.candidates


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"distill": None}, ConfigError, "no table [distill]"),
        ({"plan": Plan(training=Training(method="none"))}, ConfigError, "frozen weights"),
        ({"plan": Plan(rounds=3)}, ConfigError, "plan.rounds: .*would not heed this"),
        ({"critic": CriticConfig(kind="random")}, ConfigError, "critic: .*would not heed this"),
        ({"distill": DistillConfig(optimized="target")}, ConfigError, "are one harness: there is"),
        ({"harness": HarnessConfig(start="hand")}, ConfigError, "harness.start: .*not heed this"),
        (
            {"distill": DistillConfig(reviewer_model=RoleModel(model="gpt-x"))},
            ConfigError,
            "distill.reviewer_model: .*'own' asks no such model",
        ),
        (
            {"distill": DistillConfig(reviewer="passthrough", review="flagged")},
            ConfigError,
            "distill.review: .*is nobody",
        ),
        (
            {"distill": DistillConfig(reviewer="passthrough", knowledge="empty")},
            ConfigError,
            "distill.knowledge: .*reads no K",
        ),
        (
            {"distill": DistillConfig(replicate_tasks=0, temperature=0.5)},
            ConfigError,
            "distill.temperature: nothing is sampled",
        ),
        ({"finetune": SftSettings(mask="format")}, ConfigError, "distill.control: .*is trained as"),
    ],
)
def test_a_configuration_that_cannot_be_distilled_is_one_line(
    change: dict[str, Any], error: type[Exception], says: str, crew: Crew, tmp_path: Path
) -> None:
    with pytest.raises(error, match=says.replace("[", r"\[")):
        go(small().model_copy(update=change), tmp_path / "run", crew())
    assert not (tmp_path / "run").exists()


def test_a_target_that_votes_is_refused_before_any_episode(crew: Crew, tmp_path: Path) -> None:
    document = yaml.safe_load(Storefront().harness_path("target").read_text("utf-8"))
    document.setdefault("middleware", {}).setdefault("loop", {})["votes"] = 3
    votes = tmp_path / "votes.yaml"
    votes.write_text(yaml.safe_dump(document), "utf-8")
    with pytest.raises(HarnessError, match="ballots of a vote cannot be reviewed"):
        go(small(target=str(votes)), tmp_path / "run", crew())
    assert not (tmp_path / "run").exists()


def test_a_native_harness_is_refused_where_the_base_is_to_propose_under_it(
    crew: Crew, tmp_path: Path
) -> None:
    document = yaml.safe_load(Storefront().harness_path("optimized").read_text("utf-8"))
    document.setdefault("middleware", {}).setdefault("protocol", {})["format"] = "native"
    native = tmp_path / "native.yaml"
    native.write_text(yaml.safe_dump(document), "utf-8")
    with pytest.raises(HarnessError, match="native protocol cannot be read by a reviewer"):
        go(small(optimized=str(native)), tmp_path / "run", crew())
    assert not (tmp_path / "run").exists()


def test_a_harness_of_another_environment_is_refused_before_any_episode(
    crew: Crew, tmp_path: Path
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(
        "name: other\nprompt: {system: hello}\ntools:\n- {name: fly, description: '', "
        "parameters: {type: object, properties: {}}, action: fly}\n",
        "utf-8",
    )
    with pytest.raises(HarnessError, match=r"fly"):
        go(small(optimized=str(other)), tmp_path / "run", crew())
    assert not (tmp_path / "run").exists()


def test_the_log_keeps_k_and_summary_json_does_not(done: Path) -> None:
    with RunFolder.read(done) as folder:
        (body,) = folder.record.bodies("knowledge")
    document: Any = body["document"]
    assert document["recipes"]
    text = (done / "summary.json").read_text("utf-8")
    assert json.dumps(document["recipes"][0]["text"]) not in text
