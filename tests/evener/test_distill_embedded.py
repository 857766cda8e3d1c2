"""A small distillation of the embedded student by the command itself: really reviewed, trained,
served and measured. Slow: minutes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evener.protocols.summary import Summary

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]

# One thread: other tests run beside this one.
CONFIG = """
[student]
threads = 1
[plan.training]
collect_tasks = 32
resamples = 0
[plan.evaluation]
test_tasks = 8
[distill]
replicate_tasks = 0
"""


def test_the_embedded_student_keeps_some_of_the_harness_in_its_weights(tmp_path: Path) -> None:
    config, out = tmp_path / "small.toml", tmp_path / "run"
    config.write_text(CONFIG, "utf-8")
    command = [sys.executable, "-m", "evener", "distill", str(config), "--out", str(out), "--quiet"]
    done = subprocess.run([*command, "--json"], check=True, capture_output=True, text=True)
    summary = Summary.model_validate_json(done.stdout)
    cells = {cell.name: cell for cell in summary.cells}
    assert cells["base+target"].solved == 0  # as docs/storefront.md says
    assert cells["format+target"].solved < cells["trained+target"].solved
    (reviews,) = summary.reviews
    assert reviews.replaced > reviews.candidates / 2
    assert summary.rows.accepted >= 12
    shown = [sys.executable, "-m", "evener", "rows", "show", str(out), "--json"]
    rows = json.loads(subprocess.run(shown, check=True, capture_output=True, text=True).stdout)
    assert len(rows["rows"]) == summary.rows.accepted
    again = subprocess.run([*command, "--json"], check=True, capture_output=True, text=True)
    cells_again = Summary.model_validate_json(again.stdout).cells
    assert [(c.name, c.solved, c.calls) for c in cells_again] == [
        (c.name, c.solved, c.calls) for c in summary.cells
    ]
