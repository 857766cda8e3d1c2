"""What the log tells of a run that is over."""

from pathlib import Path

import pytest

from evener.agents.record.run import RunFolder
from evener.matrix.history import History
from evener.protocols.error import RunError


def test_models_and_harnesses_are_named_by_the_round_that_made_them(master: Path) -> None:
    history = History.read(master)
    assert list(history.models) == ["base", "trained_1"]  # round 2's model was not accepted
    assert history.models["trained_1"].adapter == "m1"
    assert list(history.harnesses)[:2] == ["seed", "evolved_1"]
    digests = [version.digest for version in history.harnesses.values()]
    assert len(digests) == len(set(digests))
    assert history.last.harness in digests
    assert set(history.trained_tokens) == {1, 2}


def test_an_entry_that_a_resumed_run_wrote_again_counts_once(run: Path) -> None:
    before = History.read(run)
    with RunFolder.change(run) as folder:
        for kind in ("spent", "trained", "searched", "round_end"):
            for body in list(folder.record.bodies(kind)):
                folder.record.append(kind, body)
    after = History.read(run)
    assert after.rollouts() == before.rollouts() > 0
    assert after.trained_tokens == before.trained_tokens
    assert after.harnesses == before.harnesses


def test_a_harness_that_a_later_look_put_back_is_named_as_what_was_kept(run: Path) -> None:
    with RunFolder.change(run) as folder:
        (first,) = [b for b in folder.record.bodies("searched") if b["round"] == 1]
        other = {**first, "harness": "e" * 64, "version": "v9"}
        folder.record.append("round_end", other)
    history = History.read(run)
    assert history.harnesses["kept_1"] == ("e" * 64, "v9")
    assert history.searched[1].digest == first["harness"]


def test_a_run_that_is_not_over_has_no_arms(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no such run folder"):
        History.read(tmp_path / "nowhere")
