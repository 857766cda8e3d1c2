"""A distillation keeps no versions and has no gate, and whoever asks for them is told that."""

import contextlib
import io
import sys
from pathlib import Path

import pytest

from evener.agents.record.manifest import Manifest
from evener.agents.record.run import RunFolder
from evener.cli import main
from evener.config import DistillConfig, RunConfig
from evener.environments.storefront import harness_path


@pytest.fixture
def distillation(tmp_path: Path) -> Path:
    out = tmp_path / "run"
    config = RunConfig(distill=DistillConfig())
    with RunFolder.open(out, Manifest.of(config.document(), digests={}, seeds={})):
        return out


def refusal(monkeypatch: pytest.MonkeyPatch, *args: str) -> str:
    said = io.StringIO()
    monkeypatch.setattr(sys, "argv", ["evener", *args])
    with contextlib.redirect_stderr(said), pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2, said.getvalue()
    (line,) = said.getvalue().strip().splitlines()
    return line


@pytest.mark.parametrize(
    "args",
    [
        ("evaluate", "RUN"),
        ("evaluate", "RUN", "--harness", "target"),
        ("gate", "null", "RUN"),
        ("harness", "list", "RUN"),
        ("harness", "show", "RUN", "v0"),
        ("harness", "diff", "RUN", "v0", "v1"),
        ("harness", "verify", "RUN"),
        ("harness", "rollback", "RUN", "v0"),
        ("harness", "propose", "RUN", str(harness_path("seed"))),
        ("models", "propose", "RUN", "adapter"),
        ("detectors", "list", "--harness", "RUN:target"),
        ("harness", "adapt", "RUN:optimized"),
        ("harness", "check", "RUN:optimized"),
        ("compare", "RUN:target", "seed"),
    ],
)
def test_who_asks_for_its_versions_or_its_gate_is_told_there_are_none(
    distillation: Path, args: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = refusal(monkeypatch, *(arg.replace("RUN", str(distillation)) for arg in args))
    assert "it keeps no harness versions and has no gate" in said
    assert "evener compare" in said


def test_a_k_is_no_harness_and_a_harness_no_k(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    knowledge, config = tmp_path / "k.yaml", tmp_path / "run.toml"
    monkeypatch.setattr(
        sys, "argv", ["evener", "harness", "adapt", "optimized", "--out", str(knowledge)]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert f"wrote {knowledge}; distill.knowledge={knowledge} gives it" in capsys.readouterr().out
    assert "this is a K, and no harness" in refusal(monkeypatch, "harness", "check", str(knowledge))
    config.write_text("[distill]\n", "utf-8")
    dry = ("distill", str(config), "--dry-run")
    swapped = f"distill.knowledge={harness_path('target')}"
    assert "this is a harness, and no K" in refusal(monkeypatch, *dry, swapped)
    said = refusal(monkeypatch, *dry, "distill.knowledge=empt")
    assert "empt: cannot be read: No such file" in said
    assert "evener harness adapt --out" in said
    assert "File name too long" in refusal(monkeypatch, *dry, f"distill.knowledge={'a' * 300}")
