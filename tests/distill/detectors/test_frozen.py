"""The digest that is logged before training: it changes with whatever a detector is made of."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from evener.distill.detectors import digest_of, frozen
from evener.protocols.behaviour import Behaviour
from evener.protocols.port import Detector
from evener.protocols.trajectory import Trajectory


def shown(trajectory: Trajectory) -> bool:
    return bool(trajectory.events)


ONE = Behaviour(name="one", part="tools", text="does it", shown=shown)


def test_equal_detectors_have_equal_digests_and_order_counts(
    detectors: dict[str, Detector],
) -> None:
    made = tuple(detectors.values())
    assert frozen(made) == frozen(tuple(made))
    assert frozen(made) != frozen(tuple(reversed(made)))
    assert frozen(made) != frozen(made[1:])
    assert len({digest_of(detector) for detector in made}) == len(made)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "two"},
        {"part": "skills"},
        {"text": "does something else"},
        {"conditional": True},
        {"settings": {"words": ["price"]}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_it_is_made_of_changes_the_digest(change: dict[str, object]) -> None:
    changed = replace(ONE, **change)  # type: ignore[arg-type]
    assert digest_of(changed) != digest_of(ONE)


PLAIN = "def deeper(trajectory):\n    return True\n"
CACHED = f"import functools\n@functools.cache\n{PLAIN}"
BY_NAME = (
    "from kiosk_rules.more import deeper\ndef shown(trajectory):\n    return deeper(trajectory)\n"
)
BY_MODULE = (
    "from kiosk_rules import more\ndef shown(trajectory):\n    return more.deeper(trajectory)\n"
)


@pytest.fixture(
    params=[(PLAIN, BY_NAME), (PLAIN, BY_MODULE), (CACHED, BY_NAME)],
    ids=["by name", "by module", "cached"],
)
def kiosk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A package of someone's own on the import path: a rule, and what it calls."""
    package = tmp_path / "kiosk_rules"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for name, text in zip(("more", "rule"), request.param, strict=True):
        (package / f"{name}.py").write_text(text)
    sys.path.insert(0, str(tmp_path))
    yield package
    sys.path.remove(str(tmp_path))
    for name in [name for name in sys.modules if name.startswith("kiosk_rules")]:
        del sys.modules[name]


def test_the_code_that_a_predicate_calls_counts_too(kiosk: Path) -> None:
    detector = replace(ONE, shown=import_module("kiosk_rules.rule").shown)
    before, more = digest_of(detector), kiosk / "more.py"
    more.write_bytes(more.read_bytes().replace(b"\n", b"\r\n"))
    assert digest_of(detector) == before
    more.write_text("def deeper(trajectory):\n    return False\n")
    assert digest_of(detector) != before
