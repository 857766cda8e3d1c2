"""`evener gate`: the figures it prints, the gate it names, and its one line for a mistake."""

import contextlib
import io
import json
import random
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evener.agents.gates.paired import PairedGate
from evener.agents.plan import Plan
from evener.agents.record.manifest import Manifest
from evener.agents.record.run import RunFolder
from evener.choose import choose_gate
from evener.cli import main
from evener.config import RunConfig
from evener.control import sign_flips, stored_verdicts
from evener.protocols.verdict import Pair, Ruling, Verdict


class Done(NamedTuple):
    code: int
    stdout: str
    stderr: str


def gate(*args: str) -> Done:
    """`evener gate …` in this process."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["evener", "gate", *args]
    code: Any = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = before
    return Done(int(code), out.getvalue(), err.getvalue())


def answer(*args: str) -> Any:
    done = gate(*args, "--json")
    assert done.code == 0, done.stderr
    return json.loads(done.stdout)


def refusal(*args: str) -> str:
    done = gate(*args)
    assert done.code == 2, done.stderr
    (line,) = done.stderr.strip().splitlines()
    return line


def config(rounds: int = 1) -> RunConfig:
    return RunConfig(plan=Plan(rounds=rounds))


def test_the_digest_is_that_of_a_run_with_so_many_rounds() -> None:
    few = ("simulate", "--replicates", "10")
    for rounds in (1, 2, 3):
        found = answer(*few, "--rounds", str(rounds))
        assert found["gate_digest"] == choose_gate(config(rounds)).digest
        assert found["settings"]["rounds"] == rounds
    assert answer(*few)["gate_digest"] == choose_gate(RunConfig()).digest
    assert answer(*few, "--rounds", "1")["gate_digest"] == PairedGate().digest
    assert answer(*few)["gate_digest"] != PairedGate().digest


def test_a_simulation_states_all_its_parameters() -> None:
    found = answer(
        "simulate", "--kind", "simplify", "--gain", "0.1", "--loss", "0.05", "--regime", "finite",
        "--tasks-in", "50", "--tasks-out", "40", "--repeats", "2", "--redrawn", "0.1",
        "--held-in", "3", "5", "--held-out", "9", "1", "--shown", "0.9", "--saved", "0.3",
        "--rollout-limit", "500", "--replicates", "20", "--seed", "7",
    )  # fmt: skip
    assert found["regime"] == {
        "name": "finite",
        "held_in": [3.0, 5.0],
        "held_out": [9.0, 1.0],
        "saved": 0.3,
        "shown": 0.9,
        "tasks_in": 50,
        "tasks_out": 40,
        "repeats": 2,
        "redrawn": 0.1,
    }
    assert (found["kind"], found["gain"], found["loss"]) == ("simplify", 0.1, 0.05)
    assert (found["rollout_limit"], found["replicates"], found["seed"]) == (500, 20, 7)
    assert found["max_rollouts"] <= 500


@pytest.mark.parametrize("regime", ["independent", "deterministic", "correlated", "finite"])
@pytest.mark.parametrize("which", ["paired", "paper"])
def test_every_regime_is_simulated_with_both_gates(regime: str, which: str) -> None:
    found = answer("simulate", "--regime", regime, "--gate", which, "--replicates", "50")
    assert (found["gate"], found["regime"]["name"]) == (which, regime)
    if regime == "finite":
        assert (found["regime"]["tasks_in"], found["regime"]["tasks_out"]) == (60, 60)


def test_a_finite_regime_may_be_endless_on_one_side() -> None:
    found = answer("simulate", "--regime", "finite", "--tasks-out", "9", "--replicates", "5")
    assert (found["regime"]["tasks_in"], found["regime"]["tasks_out"]) == (None, 9)


def test_the_text_of_a_simulation_names_gate_rates_and_tasks() -> None:
    text = gate("simulate", "--gain", "0.2", "--replicates", "400").stdout
    assert f"gate paired, trials of kind improve, digest {choose_gate(RunConfig()).digest}" in text
    assert "+20.0 points held in, +0.0 held out" in text
    assert "400 simulated trials, seed 0; independent tasks: held_in Beta(2.0, 4.0)" in text
    assert len(text.splitlines()) < 12


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--correlation", "0.3"), "--correlation means nothing for independent tasks"),
        (("--regime", "deterministic", "--repeats", "2"), "--repeats means nothing"),
        (("--regime", "correlated", "--correlation", "1.1"), "--correlation: "),
        (("--held-in", "0", "2"), "--held-in: "),
        (("--shown", "0"), "--shown: "),
        (("--saved", "1"), "--saved: "),
        (("--tasks-in", "0"), "--tasks-in: "),
    ],
)
def test_tasks_that_make_no_sense_are_one_line(args: tuple[str, ...], says: str) -> None:
    for command in ("simulate", "plan"):
        assert says in refusal(command, *args)


def test_a_plan_says_what_tasks_show_and_what_a_gain_needs() -> None:
    found = answer("plan", "--gain", "0.4", "--power", "0.5", "--replicates", "60")
    assert found["need"]["gain"] == 0.4
    assert found["rows"][0]["regime"]["name"] == "independent"
    pool = answer("plan", "--tasks-in", "40", "--power", "0.5", "--replicates", "60")
    assert pool["rows"][0]["regime"]["name"] == "finite"
    assert pool["rows"][0]["regime"]["tasks_in"] == 40
    assert pool["rows"][0]["regime"]["tasks_out"] is None
    cold = answer(
        "plan", "--tasks-in", "40", "--regime", "deterministic", "--power", "0.5",
        "--replicates", "60",
    )  # fmt: skip
    assert cold["rows"][0]["regime"]["name"] == "deterministic"
    assert cold["rows"][0]["max_rollouts"] <= 2 * (40 + 170)


def test_the_text_of_a_plan_fits_a_screen_and_states_the_cost() -> None:
    text = gate(
        "plan", "--power", "0.5", "--replicates", "60", "--cpu-per-rollout", "0.5",
        "--tokens-per-rollout", "100",
    ).stdout  # fmt: skip
    lines = text.splitlines()
    assert len(lines) < 24
    header = next(line for line in lines if line.startswith("true gain"))
    assert header.split()[-2:] == ["CPU-seconds", "tokens"]
    row = next(line for line in lines if line.startswith("+40.0")).split()
    rollouts = float(row[2])
    assert float(row[-2]) == pytest.approx(rollouts / 2, abs=1)
    assert float(row[-1]) == pytest.approx(rollouts * 100, abs=51)
    assert any("the smallest gain accepted with power 0.5: +" in line for line in lines)
    assert any("points take about" in line and "CPU-seconds" in line for line in lines)
    none = gate("plan", "--tasks-in", "5", "--replicates", "20").stdout
    assert "no gain up to +80.0 points is accepted with power 0.75" in none
    missing = gate("plan", "--gain", "0.05", "--replicates", "20").stdout
    assert "+5.0 points are not accepted with power 0.75, however many of the tasks" in missing


def pairs(n: int, gained: int, name: str) -> tuple[Pair, ...]:
    draw = random.Random(name)
    return tuple(
        Pair(
            task=f"{name}{at}",
            before=0.0 if at < gained else float(draw.random() < 0.8),
            after=1.0 if at < gained else float(draw.random() < 0.8),
        )
        for at in range(n)
    )


def verdict(held_in: tuple[Pair, ...], held_out: tuple[Pair, ...]) -> Verdict:
    return Verdict(
        trial="t",
        kind="improve",
        gate="paired",
        gate_digest="g",
        ruling=Ruling.ACCEPT,
        delta_in=None,
        delta_out=None,
        pairs_in=held_in,
        pairs_out=held_out,
        coverage=1.0,
        looks=1,
        rollouts=200,
        seed=0,
        reason="",
    )


def run(path: Path, *verdicts: Verdict, gate_digest: str = "") -> Path:
    """An interrupted run with these verdicts, the last of which was logged again."""
    made = config(rounds=2)
    digest = gate_digest or choose_gate(made).digest
    manifest = Manifest.of(made.document(), digests={"gate": digest}, seeds={"run": 0})
    with RunFolder.open(path, manifest) as folder:
        for at, one in enumerate((*verdicts, *verdicts[-1:])):
            folder.record.append(
                "verdict",
                {
                    "round": 1,
                    "iteration": min(at, len(verdicts) - 1),
                    "patch": "p",
                    "verdict": folder.record.put(one),
                },
            )
    return path


def test_null_flips_the_stored_pairs_of_a_run_and_names_its_gate(tmp_path: Path) -> None:
    large = verdict(pairs(30, 18, "a"), pairs(70, 0, "b"))
    later = verdict(pairs(60, 25, "c"), pairs(120, 0, "d"))
    ended = verdict(pairs(30, 0, "e"), ())
    path = run(tmp_path / "run", large, ended, later)
    found = answer("null", str(path), "--flips", "300", "--seed", "3")
    assert (found["gate"], found["gate_digest"]) == ("paired", choose_gate(config(2)).digest)
    assert (found["trials"], found["used"]) == (3, 2)
    control = found["control"]
    assert (control["name"], control["trials"], control["seed"]) == ("sign flips", 300, 3)
    assert control["pairs"] == 100 + 180
    assert control["rate"] <= 0.05
    text = gate("null", str(path), "--flips", "100").stdout
    assert "of 100 accepted" in text
    assert "280 stored pairs of 2 of 3 trials; 1 ended with too few pairs" in text
    assert choose_gate(config(2)).digest in text


def test_a_verdict_that_was_logged_again_counts_once(tmp_path: Path) -> None:
    path = run(tmp_path / "run", verdict(pairs(30, 18, "a"), pairs(70, 0, "b")))
    with RunFolder.read(path) as folder:
        assert len(stored_verdicts(folder.record.bodies("verdict"), folder.record)) == 1
        assert sign_flips(folder, flips=10).trials == 1


def test_null_refuses_a_run_it_can_say_nothing_of(tmp_path: Path) -> None:
    ended = verdict(pairs(30, 0, "e"), ())
    assert "none of its 1 trials has pairs enough" in refusal(
        "null", str(run(tmp_path / "ended", ended))
    )
    assert "none of its 0 trials" in refusal("null", str(run(tmp_path / "empty")))
    other = run(tmp_path / "other", ended, gate_digest="0" * 64)
    assert "its gate is 000000000000, and this evener makes" in refusal("null", str(other))
    assert "no such run folder" in refusal("null", str(tmp_path / "nowhere"))


@pytest.mark.slow  # 20,000 trials four times: the bars that the default gate is chosen for
def test_the_default_gate_meets_its_bars() -> None:
    many = ("simulate", "--replicates", "20000", "--seed", "0")
    assert answer(*many)["accept"]["rate"] <= 0.05
    gain = answer(*many, "--gain", "0.2")
    assert gain["accept"]["rate"] >= 0.75
    assert gain["mean_rollouts"] <= 400
    assert answer(*many, "--gain", "0.2", "--loss", "0.1")["accept"]["rate"] <= 0.10
    assert answer(*many, "--gate", "paper")["accept"]["rate"] >= 0.2
