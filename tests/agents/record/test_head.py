"""What stands in HEAD is held against what is there."""

from pathlib import Path

import pytest

from evener.agents.record.registry import Registry
from evener.protocols.error import RunError
from evener.protocols.harness import Harness


def test_a_missing_or_wrong_head_is_an_error_not_an_empty_registry(tmp_path: Path) -> None:
    registry = Registry(tmp_path)
    registry.start(Harness(name="first"))
    for content in (b"", b"v9\n", b"\xff"):
        (tmp_path / "HEAD").write_bytes(content)
        with pytest.raises(RunError):
            registry.head()
        assert any(fault.startswith("HEAD: ") for fault in registry.verify())
    registry.rollback("v0", actor="person", reason="mend HEAD")
    assert registry.head()[0] == "v0"
    (tmp_path / "moves.jsonl").write_text("{")
    assert [fault for fault in registry.verify() if "moves.jsonl: damaged" in fault]
