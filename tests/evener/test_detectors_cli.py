"""`evener detectors list`: what it lists, of which harness, and its one line for a mistake."""

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evener.cli import main
from evener.distill.detectors import detectors_of, frozen
from evener.environments.storefront import Storefront, harness_path


class Done(NamedTuple):
    code: int
    stdout: str
    stderr: str


def listed(*args: str) -> Done:
    """`evener detectors list …` in this process."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["evener", "detectors", "list", *args]
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
    done = listed(*args, "--json")
    assert done.code == 0, done.stderr
    return json.loads(done.stdout)


def test_the_detectors_of_the_optimized_harness_are_listed_with_their_digest() -> None:
    from evener.agents.harness.load import load

    found = answer()
    made = detectors_of(load(harness_path("optimized")), Storefront())
    assert found["harness"] == "storefront-optimized"
    assert found["digest"] == frozen(made)
    assert [one["name"] for one in found["detectors"]] == [one.name for one in made]
    assert {"part", "conditional", "text", "digest"} <= found["detectors"][0].keys()
    assert found["undetected"] == []


def test_the_table_names_every_detector_and_the_digest() -> None:
    done, found = listed(), answer()
    assert done.code == 0
    for one in found["detectors"]:
        assert one["name"] in done.stdout
        assert one["text"] in done.stdout
    assert found["digest"] in done.stdout.splitlines()[-1]


def test_parts_that_no_detector_stands_for_are_named(tmp_path: Path) -> None:
    text = harness_path("optimized").read_text("utf-8")
    file = tmp_path / "mine.yaml"
    file.write_text(text.replace("- {name: result,", "- {name: outcome,"), "utf-8")
    assert answer("--harness", str(file))["undetected"] == ["memory.entries[outcome]"]
    assert listed("--harness", str(file)).stdout.splitlines()[-1] == (
        "no detector stands for memory.entries[outcome]"
    )


def test_a_harness_for_another_environment_is_refused() -> None:
    done = listed(
        "--harness", str(harness_path("optimized").parents[2] / "math/harnesses/tir.yaml")
    )
    (line,) = done.stderr.strip().splitlines()
    assert done.code == 2
    assert "tir.yaml" in line


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--harness", "best"), "storefront ships no harness 'best'"),
        (("--environment", "storefrunt"), "Did you mean 'storefront'?"),
        (("--harness", "nowhere.yaml"), "nowhere.yaml"),
        (("--harness", "optimized", "--environment", "math"), "math ships no harness 'optimized'"),
    ],
)
def test_a_mistake_is_one_line(args: tuple[str, ...], said: str) -> None:
    done = listed(*args)
    (line,) = done.stderr.strip().splitlines()
    assert (done.code, done.stdout) == (2, "")
    assert said in line
