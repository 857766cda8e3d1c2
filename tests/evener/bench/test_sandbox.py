"""The sandbox is timed in turns, and the figures say their interval and what was in force."""

import json

from typer.testing import CliRunner

from evener.bench.sandbox import SandboxSpeed, measure, render
from evener.cli import commands
from evener.cli.app import app


async def test_a_call_and_a_start_are_measured_beside_what_is_done_without() -> None:
    found = await measure(["process"], turns=3, starts=2, calls=5, seed=0)
    call, start = found.lines
    assert (call.what, call.without, call.n, call.calls) == ("call", "python -c", 3, 5)
    assert (start.what, start.without, start.n, start.calls) == ("episode start", "cold", 2, 1)
    for line in found.lines:
        assert 0 < line.low <= line.ratio <= line.high
        assert line.seconds > 0
        assert line.seconds_without > 0
    assert [one.level for one in found.protections] == ["process"]
    assert SandboxSpeed.model_validate_json(found.model_dump_json()) == found
    text = render(found)
    assert "n 3" in text
    assert "level process" in text


def test_the_command_prints_one_document() -> None:
    asked = ["bench", "sandbox", "--level", "process", "--turns", "2", "--starts", "2", "--json"]
    commands.attach()
    answer = CliRunner().invoke(app, asked)
    assert answer.exit_code == 0, answer.output
    assert [line["n"] for line in json.loads(answer.stdout)["lines"]] == [2, 2]
