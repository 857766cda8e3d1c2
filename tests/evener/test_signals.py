"""The command line under signals, in a process of its own with a scripted student."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evener.agents.record.run import RunFolder

SLOW = """
import runpy, sys
from pathlib import Path

support = runpy.run_path(sys.argv[1])
import evener.parts as parts
from evener.cli import app

desk = support["Desk"]()
model = support["clerk"](desk)
model._delay = 0.2
parts.choose_environment = lambda config: desk
parts.choose_model = lambda config: model
sys.argv = ["evener", "run", sys.argv[2], "--out", sys.argv[3]]
app.main()
"""


@pytest.mark.parametrize(
    ("sent", "code", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_a_signal_ends_the_run_with_its_code_and_a_line(
    tmp_path: Path, sent: signal.Signals, code: int, word: str
) -> None:
    config = tmp_path / "run.toml"
    config.write_text('[plan]\nrounds = 1\n[plan.training]\nmethod = "none"\n')
    out = tmp_path / "out"
    support = Path(__file__).with_name("conftest.py")
    command = [sys.executable, "-c", SLOW, str(support), str(config), str(out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        while not (out / "harness" / "HEAD").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(0.5)
        process.send_signal(sent)
        _, talk = process.communicate(timeout=120)
    assert process.returncode == code, talk
    assert talk.strip().splitlines()[-1].startswith(f"evener: {word}")
    assert "Traceback" not in talk
    with RunFolder.read(out) as folder:
        assert folder.state == "interrupted"
