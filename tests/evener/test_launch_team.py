"""The example script is real: its settings are settings, and its function runs a team."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evener.agents.models.scripted import ScriptedModel
from evener.config import RunConfig, parse
from evener.parts import Parts
from evener.protocols.summary import Summary

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "launch_team.py"


def script() -> Any:
    spec = importlib.util.spec_from_file_location("launch_team", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_script_is_under_thirty_lines_and_its_settings_are_settings() -> None:
    assert len(EXAMPLE.read_text("utf-8").splitlines()) < 30
    assert parse(script().SETTINGS, where="the example").plan.rounds == 1


async def test_the_script_starts_a_team_and_says_what_came_of_it(
    hire: Callable[[Any], ScriptedModel], config: RunConfig, desk: Any, tmp_path: Path
) -> None:
    student = hire(desk)
    parts = Parts(environment=desk, model=student)
    said = await script().launch(config, tmp_path / "run", parts)
    assert "base+evolved" in said
    summary = Summary.model_validate_json((tmp_path / "run" / "summary.json").read_bytes())
    # the parts that the script handed in, and not those of its settings
    assert (summary.environment, summary.student) == (desk.name, student.ref.base)
