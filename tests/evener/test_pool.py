"""Run folders with cells that were never run, pooled and written out."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evener.agents.plan import Plan
from evener.agents.record.manifest import Manifest
from evener.agents.record.run import RunFolder
from evener.cli import main
from evener.config import RunConfig
from evener.pool import pool
from evener.protocols.error import RunError
from evener.protocols.interval import tango
from evener.protocols.model import ModelRef, Usage
from evener.protocols.summary import Arm, Control, Effect, PooledSummary, PredictionLine, Summary
from evener.protocols.task import Purpose, Split, Task
from evener.protocols.trajectory import EpisodeKey, Outcome, Score, Trajectory, prompt_digest
from evener.report.markdown import page
from evener.report.text import render, render_pooled

Make = Callable[..., Path]
MODEL = ModelRef(base="student", revision="r")


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A run of `seed` whose tasks were solved or not as strings of + and - say. Its tasks are its
    own unless they are `shared`."""

    def build(
        seed: int,
        cells: dict[str, str],
        *,
        shared: bool = False,
        state: Any = "finished",
        code: str = "c",
        rounds: int = 2,
        split: Split = Split.TEST,
    ) -> Path:
        config = RunConfig(plan=Plan(seed=seed, rounds=rounds))
        manifest = Manifest(
            config=config.document(), digests={"gate": "g" * 64}, seeds={"run": seed}, code=code,
            libraries={"torch": "2.13.0"}, python="3.11.7",
        )  # fmt: skip
        path = tmp_path / f"seed{seed}"
        with RunFolder.open(path, manifest) as folder:
            for name, pattern in cells.items():
                made = [
                    episode(name, f"t{0 if shared else seed}-{i}", sign == "+", split)
                    for i, sign in enumerate(pattern)
                ]
                folder.record.append(
                    "cell",
                    {
                        "name": name, "model": name.partition("+")[0], "harness": name,
                        "split": str(split), "seed": seed, "cpu_seconds": 2.0,
                        "episodes": [folder.record.finish(one) for one in made],
                    },
                )  # fmt: skip
            assert folder.session is not None
            if state != "interrupted":
                folder.session.end_as(state)
        return path

    return build


def episode(harness: str, name: str, solved: bool, split: Split) -> Trajectory:
    task = Task(id=name, split=split, prompt=f"{name}?")
    key = EpisodeKey(
        task=name, prompt_digest=prompt_digest(task), harness=harness, model="r",
        purpose=Purpose.EVALUATE, seed=0,
    )  # fmt: skip
    return Trajectory(
        id=key.id(),
        key=key,
        task=task,
        model=MODEL,
        messages=(),
        events=(),
        outcome=Outcome.SOLVED if solved else Outcome.FAILED,
        score=Score(value=float(solved), verdict="correct" if solved else "incorrect"),
        usage=Usage(calls=1, completion_tokens=3),
    )


BEFORE, AFTER = "+---------", "++++++++--"


def test_pairs_of_all_seeds_stand_together_and_each_seed_beside_them(make: Make) -> None:
    runs = [
        make(2, {"base+seed": BEFORE, "base+evolved": "+---------"[::-1]}),
        make(1, {"base+seed": BEFORE, "base+evolved": AFTER}),
    ]
    found = pool(runs)
    (gain,) = found.comparisons
    assert found.seeds == gain.seeds == (1, 2)
    assert (gain.n, gain.difference) == (20, 0.35)
    assert (gain.low, gain.high) == tango(8, 1, 20)[1:3]
    assert [one.difference for one in gain.runs] == [0.7, 0.0]
    assert (gain.least, gain.most) == (0.0, 0.7)
    start = next(cell for cell in found.cells if cell.name == "base+seed")
    assert (start.n, start.solved, start.calls, start.cpu_seconds) == (20, 2, 20, 4.0)
    assert "2 seeds pooled" in found.verdict_sentence
    assert PooledSummary.model_validate_json(found.model_dump_json()) == found


def test_a_seed_in_which_nothing_was_found_counts_with_its_zeros(make: Make) -> None:
    first = make(0, {"base+seed": BEFORE, "base+evolved": AFTER})
    other = make(1, {"base+seed": BEFORE})
    with RunFolder.change(other) as folder:
        (entry,) = folder.record.bodies("cell")
        folder.record.append("cell", {**entry, "name": "base+evolved"})
    (gain,) = pool([first, other]).comparisons
    assert (gain.n, gain.difference, gain.least) == (20, 0.35, 0.0)


def test_tasks_that_seeds_share_do_not_count_as_new_ones(make: Make) -> None:
    cells = {"base+seed": BEFORE, "base+evolved": "+-+-+-+---"}
    (apart,) = pool([make(0, cells), make(1, cells)]).comparisons
    (shared,) = pool([make(2, cells, shared=True), make(3, cells, shared=True)]).comparisons
    assert shared.n == apart.n == 20
    assert shared.high - shared.low > apart.high - apart.low


def test_runs_with_one_seed_are_not_pooled(make: Make, tmp_path: Path) -> None:
    first = make(0, {"base+seed": BEFORE})
    with pytest.raises(RunError, match="would count twice"):
        pool([first, first])


def test_runs_that_differ_in_more_than_the_seed_are_not_pooled(make: Make) -> None:
    runs = [make(0, {"base+seed": BEFORE}), make(1, {"base+seed": BEFORE}, rounds=3)]
    with pytest.raises(RunError, match=r"in more than its seed: config\.plan\.rounds: 2 → 3"):
        pool(runs)


def test_other_code_and_missing_cells_are_said(make: Make) -> None:
    whole = make(0, {"base+seed": BEFORE, "base+evolved": AFTER})
    part = make(1, {"base+seed": BEFORE}, state="interrupted", code="d")
    found = pool([whole, part])
    assert any("seed 1 was run by other code" in note for note in found.notes)
    assert "seed 1 (interrupted) has no base+evolved on test" in found.notes
    assert found.comparisons[0].seeds == (0,)
    assert "seed1 is interrupted: this is as far as it has come" in render_pooled(found)
    text = page(found, Manifest.load(whole / "manifest.json"), command="evener report")
    assert "The run with seed 1 is interrupted" in text


def written(*runs: Path) -> str:
    return page(pool(runs), Manifest.load(runs[0] / "manifest.json"), command="evener report x")


def test_the_page_calls_a_gain_only_what_is_clear_of_chance(make: Make) -> None:
    cells = {"base+seed": BEFORE, "base+hand": "++--------", "base+evolved": AFTER}
    text = written(make(0, cells), make(1, cells))
    gained, rest = text.split("## What was gained\n")[1].split("## What was not\n")
    not_gained = rest.split("## What it cost")[0]
    assert "`base+evolved` is ahead of `base+seed`" in gained
    assert "`base+hand`" not in gained.replace("of `base+hand`", "")
    assert "`base+hand` is not told apart from `base+seed`" in not_gained
    assert "seeds from +70 to +70" in gained
    assert "Generated by `evener report x`" in text
    assert "here 2" in text


def test_a_run_without_cells_is_reported_without_a_claim(make: Make) -> None:
    run = make(0, {}, state="interrupted")
    text = written(run)
    assert "The sealed test was not run." in text
    assert "interrupted" in text
    assert "What was gained" not in text
    assert "interrupted" in render(pool([run]).runs[0])


def test_what_stands_beside_the_cells_is_shown(make: Make) -> None:
    run = make(
        0,
        {
            "base+seed": BEFORE, "base+evolved_1": AFTER, "trained_1+evolved_1": AFTER,
            "trained_1+evolved_2": AFTER[::-1],
        },
    )  # fmt: skip
    documents = {
        "effect": Effect(
            version="v1", patch="teach", model="m", split="held_out", difference=0.1, low=-0.02,
            high=0.2, n=60, redundant=True,
        ),
        "control": Control(
            name="A/A", trials=9, accepted=1, rate=0.11, low=0.02, high=0.4, pairs=540, seed=0,
        ),
        "prediction": PredictionLine(
            round=1, iteration=1, patch="teach", fixes=9, fixes_true=3, breaks=2, breaks_true=0,
            fixed=4, broken=1,
        ),
        "arm": Arm(name="base+random", rollouts=700, rollout_limit=800),
    }  # fmt: skip
    with RunFolder.change(run) as folder:
        for kind, document in documents.items():
            folder.record.append(kind, document.document())
    found = pool([run])
    for text in (render(found.runs[0]), render_pooled(found), written(run)):
        for part in ("redundant: not shown to help", "A/A", "3/9", "700/800", "evolved_2"):
            assert part in text
    assert "under harness φ, test" in render(found.runs[0])


def test_the_page_names_no_folder_of_the_machine(make: Make, tmp_path: Path) -> None:
    text = written(make(0, {"base+seed": BEFORE, "base+evolved": AFTER}))
    assert str(tmp_path) not in text


def command(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    """The console script in this process: exit code, stdout, stderr."""
    before, sys.argv = sys.argv, ["evener", *args]
    try:
        main()
        code: Any = 0
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = before
    out, err = capsys.readouterr()
    return int(code), out, err


def test_the_command_writes_a_page_text_or_json(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = {"base+seed": BEFORE, "base+evolved": AFTER}
    runs = [str(make(seed, cells)) for seed in (0, 1)]
    code, text, _ = command(capsys, "report", *runs)
    assert code == 0
    assert text == render_pooled(pool([Path(run) for run in runs])) + "\n"
    _, one, _ = command(capsys, "report", runs[0], "--json")
    assert Summary.model_validate_json(one).cells[0].name == "base+seed"
    _, both, _ = command(capsys, "report", *runs, "--format", "json")
    assert PooledSummary.model_validate_json(both).seeds == (0, 1)
    page_file = tmp_path / "results.md"
    _, out, _ = command(capsys, "report", *runs, "--format", "markdown", "--out", str(page_file))
    assert out == ""
    assert "`evener report seed0 seed1 --format markdown`" in page_file.read_text("utf-8")


def test_mistakes_are_one_line(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(make(0, {"base+seed": BEFORE}))
    for args, says in (
        (("report", str(tmp_path / "no")), "no such run folder"),
        (("report", run, run), "would count twice"),
        (("compare", "nowhere.yaml", "seed"), "nowhere.yaml"),
        (("compare", "seed", f"{run}:v3"), "v3"),
        (("compare", "seed", "hand", "--model", f"{run}:m1"), "there are base"),
        (("compare", "seed", "hand", "--environment", "storefrnt"), "storefront"),
    ):
        code, _, line = command(capsys, *args)
        assert code == 2
        assert says in line
        assert len(line.strip().splitlines()) == 1
