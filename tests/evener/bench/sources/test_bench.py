"""`evener bench sources` over scripted parts: a clerk whose weights learn, teachers, reviewers."""

import asyncio
import contextlib
import io
import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evener.agents.harness.load import load
from evener.agents.harness.replay import views
from evener.agents.plan import Evaluation, Plan, Training
from evener.agents.record.manifest import Manifest
from evener.agents.record.run import RunFolder
from evener.bench.sources.bench import SOURCES, SourceBench
from evener.bench.sources.gold import Gold
from evener.bench.sources.page import page, render
from evener.bench.sources.result import SourceLine, SourceTable
from evener.cli import main
from evener.cli.bench import command_of
from evener.config import DistillConfig, RunConfig
from evener.distill.select import select
from evener.environments.storefront import Storefront
from evener.matrix.run import matrix
from evener.parts import Parts
from evener.protocols.error import ConfigError, DataError, InfraError, RunError
from evener.protocols.event import Parsed
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.task import Purpose, Split
from evener.protocols.trajectory import Trajectory
from evener.protocols.wire import ModelTrained

Crew = Callable[[], Parts]
TASKS = 20


def small(**distill: Any) -> RunConfig:
    return RunConfig(
        plan=Plan(
            training=Training(collect_tasks=TASKS, resamples=1),
            evaluation=Evaluation(test_tasks=12, ood_tasks=3),
        ),
        distill=DistillConfig(**distill),
    )


class Fitting:
    """A fine-tuner that takes the solved episodes whose calls the serving harness has, as the real
    one does, and refuses to train on nothing. It breaks down at the model called `broken`."""

    def __init__(self, inner: Any, *, least: int = 1, broken: str = "") -> None:
        self.inner = inner
        self.least = least
        self.broken = broken

    async def train(
        self, trajectories: Sequence[Trajectory], *, name: str, serving: Harness, **rest: Any
    ) -> ModelTrained:
        if name == self.broken:
            raise InfraError("out of memory")
        refused: Counter[str] = Counter()
        kept: list[Trajectory] = []
        chosen = select(trajectories)
        refused.update(chosen.refused)
        for episode in chosen.episodes:
            if any(view.fault is not None for view in views(serving, episode)):
                refused["unknown_action"] += 1
            else:
                kept.append(episode)
        if len(kept) < self.least:
            reason = f"nothing_to_train: {len(kept)} rows of at least {self.least}"
            return ModelTrained(model=None, rows=len(kept), refused=dict(refused), reason=reason)
        made: ModelTrained = await self.inner.train(kept, name=name, serving=serving, **rest)
        return made.model_copy(update={"refused": dict(refused)})


def go(config: RunConfig, out: Path, parts: Parts) -> SourceTable:
    async def whole() -> SourceTable:
        async with SourceBench.open(config, out, parts=parts) as made:
            return await made.run()

    return asyncio.run(whole())


class Bench(NamedTuple):
    out: Path
    table: SourceTable
    asked: int


@pytest.fixture(scope="module")
def done(crew: Crew, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    out = tmp_path_factory.mktemp("bench") / "run"
    parts = crew()
    parts.tuner = Fitting(parts.tuner)
    table = go(small(), out, parts)
    model: Any = parts.model
    return Bench(out, table, model.asked)


def line(table: SourceTable, source: str) -> SourceLine:
    return next(one for one in table.lines if one.source == source)


def collected(out: Path, source: str) -> list[Trajectory]:
    with RunFolder.read(out) as folder:
        bodies: list[Any] = [b for b in folder.record.bodies("source") if b["source"] == source]
        return [folder.record.get(Trajectory, digest) for digest in bodies[-1]["episodes"]]


def test_every_source_has_a_line_with_what_it_collected_and_what_its_student_scores(
    done: Bench,
) -> None:
    assert [one.source for one in done.table.lines] == list(SOURCES)
    assert (done.table.base.name, done.table.base.n) == ("base+target", 12)
    for one in done.table.lines:
        assert one.collected is not None
        assert (one.collected.n, one.collected.split) == (TASKS, "mine")
        assert one.collected.low <= one.collected.rate <= one.collected.high
        assert one.score is not None
        assert (one.score.n, one.score.split) == (12, "test")
        assert one.difference is not None
        assert (one.difference.b, one.difference.n) == ("base+target", 12)
        assert one.rows.accepted
        assert one.trained_tokens
    assert not any("ood" in name for name in splits(done.out))


def splits(out: Path) -> set[str]:
    with RunFolder.read(out) as folder:
        return {row.split for row in folder.record.trajectories()}


def test_all_sources_collect_on_the_same_tasks_and_nothing_but_mine_is_collected(
    done: Bench,
) -> None:
    drawn = [{e.task.id for e in collected(done.out, source)} for source in SOURCES]
    assert all(one == drawn[0] for one in drawn)
    for source in SOURCES:
        for episode in collected(done.out, source):
            assert (episode.task.split, episode.key.purpose) == (Split.MINE, Purpose.COLLECT)


def test_the_teacher_solves_everything_in_the_words_of_the_student(done: Bench) -> None:
    gold = line(done.table, "gold")
    assert gold.collected is not None
    assert (gold.collected.solved, gold.episodes, gold.rows.accepted) == (TASKS, TASKS, TASKS)
    for episode in collected(done.out, "gold"):
        for message in episode.messages:
            if message.sampled:
                assert set(json.loads(message.content)) == {"name", "arguments"}


def test_what_the_teacher_says_in_the_tools_of_h_star_gives_no_rows(done: Bench) -> None:
    target = load(Storefront().harness_path("target"))
    faults: dict[str, set[bool]] = {}
    used: dict[str, set[str]] = {}
    for episode in collected(done.out, "teacher_optimized"):
        assert episode.solved
        kind = episode.task.kind
        faults.setdefault(kind, set()).add(any(view.fault for view in views(target, episode)))
        calls = [c for e in episode.events if isinstance(e, Parsed) for c in e.calls]
        used.setdefault(kind, set()).update(call.name for call in calls)
    assert used["price"] == {"quote", "final"}
    assert used["convert"] == {"convert_any", "final"}
    assert used["calc"] == {"calculator", "final"}
    assert used["bill"] == {"lookup", "calculator", "final"}
    assert faults == {"price": {True}, "convert": {True}, "calc": {False}, "bill": {False}}
    guided = line(done.table, "teacher_optimized")
    assert guided.rows.refused == {"unknown_action": TASKS // 2}
    assert guided.rows.accepted == TASKS // 2


def test_the_student_under_h_star_is_the_base_with_its_own_accepted_runs(done: Bench) -> None:
    optimized = load(Storefront().harness_path("optimized"))
    own = line(done.table, "student_optimized")
    runs = collected(done.out, "student_optimized")
    assert {e.key.harness for e in runs} == {optimized.digest()}
    assert {e.model.base for e in runs} == {"scripted:clerk"}
    assert own.reviews is None
    assert own.rows.accepted == own.solved
    assert own.rows.refused == {"not_solved": own.episodes - own.solved}


def test_the_review_that_knows_the_answer_ends_in_a_solution_whatever_the_candidate(
    done: Bench,
) -> None:
    knowing = line(done.table, "review_knowing")
    assert knowing.reviews is not None
    assert knowing.reviews.reviewer.startswith("knowing")
    assert 0 < knowing.reviews.replaced < knowing.reviews.candidates
    assert knowing.reviews.invalid_attempts == 0
    assert knowing.collected is not None
    assert knowing.collected.solved == TASKS


def test_each_reviewed_source_has_its_own_reviewer_and_the_others_none(done: Bench) -> None:
    named = {one.source: one.reviews.reviewer for one in done.table.lines if one.reviews}
    assert set(named) == {"review_empty", "review_knowing", "review_k"}
    with RunFolder.read(done.out) as folder:
        assert len({str(body["review"]) for body in folder.record.bodies("review")}) == 3
    assert done.table.reviewer == named["review_k"] == "own scripted:clerk"


def test_the_files_and_the_text_have_every_source_and_the_sentence(done: Bench) -> None:
    stored = SourceTable.model_validate_json((done.out / "sources.json").read_text("utf-8"))
    assert stored == done.table
    markdown = (done.out / "sources.md").read_text("utf-8")
    for text in (markdown.replace("\\*", "*"), render(done.table)):
        assert all(label in text for label in SOURCES.values())
        assert "paper's order" in text
        assert "seed 0" in text
    manifest = Manifest.load(done.out / "manifest.json")
    assert str(done.out.parent) not in page(done.table, manifest, command="evener")


def test_the_command_of_the_page_can_be_given_again_and_holds_no_folder_of_this_machine(
    tmp_path: Path,
) -> None:
    spaced = "student.model=my model"
    assert command_of(tmp_path / "my.toml", [spaced]) == (
        "evener bench sources my.toml 'student.model=my model'"
    )
    assert command_of(Path("examples/distill.toml"), []) == (
        "evener bench sources examples/distill.toml"
    )


def test_no_arm_is_put_beside_a_folder_of_sources(done: Bench, crew: Crew) -> None:
    with pytest.raises(RunError, match="this is a folder of evener bench sources"):
        asyncio.run(matrix(done.out, parts=crew()))


def test_going_on_asks_nobody_and_finds_the_same(done: Bench, crew: Crew, tmp_path: Path) -> None:
    run = Path(shutil.copytree(done.out, tmp_path / "run"))
    parts = crew()
    parts.tuner = Fitting(parts.tuner)
    again = go(small(), run, parts)
    model: Any = parts.model
    assert model.asked == 0
    assert again.order == done.table.order
    for one, before in zip(again.lines, done.table.lines, strict=True):
        for field in ("episodes", "rows", "reviews", "difference", "finding"):
            assert getattr(one, field) == getattr(before, field)


def test_after_a_breakdown_the_same_command_pays_for_what_is_left(
    done: Bench, crew: Crew, tmp_path: Path
) -> None:
    parts = crew()
    parts.tuner = Fitting(parts.tuner, broken="review_knowing")
    with pytest.raises(InfraError):
        go(small(), tmp_path / "run", parts)
    model: Any = parts.model
    first = model.asked
    assert first > 0
    whole = crew()
    whole.tuner = Fitting(whole.tuner)
    again = go(small(), tmp_path / "run", whole)
    second: Any = whole.model
    assert first + second.asked == done.asked
    assert [one.rows for one in again.lines] == [one.rows for one in done.table.lines]


def test_a_source_without_rows_is_reported_as_such_with_its_refusals(
    crew: Crew, tmp_path: Path
) -> None:
    parts = crew()
    parts.tuner = Fitting(parts.tuner, least=TASKS // 2 + 1)
    found = go(small(reviewer="recipe"), tmp_path / "run", parts)
    guided = line(found, "teacher_optimized")
    assert (guided.score, guided.difference, guided.finding) == (None, None, "no student")
    assert guided.rows.refused == {"unknown_action": TASKS // 2}
    assert "no student: 10 rows" in render(found)
    assert guided.note in render(found)
    assert "teacher_optimized+target" not in {c.b for c in found.order.against}


class Plain:
    """A desk that replays no right solution."""

    def __init__(self, desk: Any) -> None:
        self._desk = desk

    def __getattr__(self, name: str) -> Any:
        if name == "gold":
            raise AttributeError(name)
        return getattr(self._desk, name)


def test_without_right_solutions_the_three_sources_that_need_them_are_not_available(
    crew: Crew, tmp_path: Path
) -> None:
    parts = crew()
    desk: Any = Plain(parts.environment)
    parts.environment = desk
    found = go(small(reviewer="recipe"), tmp_path / "run", parts)
    absent = {one.source for one in found.lines if not one.available}
    assert absent == {"gold", "teacher_optimized", "review_knowing"}
    assert "not available: storefront replays no right solution" in render(found)
    assert line(found, "review_k").score is not None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"distill": None}, "no table"),
        ({"distill": DistillConfig(reviewer="passthrough")}, "reads no K"),
        ({"plan": Plan(training=Training(method="none"))}, "frozen weights"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_one_line_and_leaves_no_folder(
    change: dict[str, Any], says: str, crew: Crew, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=says) as error:
        go(small().model_copy(update=change), tmp_path / "run", crew())
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_the_folder_of_another_seed_is_not_gone_on_with(done: Bench, crew: Crew) -> None:
    plan = small().plan.model_copy(update={"seed": 1})
    with pytest.raises(RunError, match="other settings"):
        go(small().model_copy(update={"plan": plan}), done.out, crew())


def test_every_source_has_a_student_of_its_own_name(done: Bench) -> None:
    with RunFolder.read(done.out) as folder:
        asked = list(folder.record.bodies("arm_model"))
    assert [body["arm"] for body in asked] == list(SOURCES)
    assert {str(ModelRef.model_validate(body["model"]).adapter) for body in asked} == {*SOURCES}


def test_solutions_of_other_splits_are_never_read() -> None:
    class Locked:
        def gold(self, task: Any) -> Any:
            pytest.fail(f"the solution of {task.id} was read")

    desk = Storefront()
    tasks = [*desk.tasks(Split.MINE, count=1, seed=0), *desk.tasks(Split.TEST, count=1, seed=0)]
    with pytest.raises(DataError, match="mine"):
        Gold(desk, Locked(), tasks)


def command(*args: str) -> tuple[int, str, str]:
    """The console script, in this process."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["evener", "bench", "sources", *args]
    code: Any = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = before
    return int(code), out.getvalue(), err.getvalue()


def test_the_command_checks_and_estimates_without_a_model(tmp_path: Path) -> None:
    config = tmp_path / "d.toml"
    config.write_text("[distill]\n[plan.training]\ncollect_tasks = 8\nresamples = 1\n", "utf-8")
    code, said, _ = command(str(config), "plan.evaluation.test_tasks=5", "--dry-run", "--json")
    assert code == 0
    cost = json.loads(said)
    assert (cost["rollouts"], cost["training_rows"]) == (6 * 8 * 2 + 7 * 5, 6 * 8)
    assert [path.name for path in tmp_path.iterdir()] == ["d.toml"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[plan]\nseed = 1\n", "no table [distill]"),
        ('[distill]\nreviewer = "passthrough"\n', "reads no K"),
        ('[distill]\noptimized = "nothing"\n', "ships no harness"),
        ("[distill]\nreviewers = 1\n", "did you mean distill.reviewer?"),
    ],
)
def test_a_mistake_is_one_line(text: str, says: str, tmp_path: Path) -> None:
    config = tmp_path / "d.toml"
    config.write_text(text, "utf-8")
    code, said, err = command(str(config), "--out", str(tmp_path / "run"), "--dry-run")
    assert (code, said) == (2, "")
    (one,) = err.strip().splitlines()
    assert says in one
    assert not (tmp_path / "run").exists()
