"""The example for contest problems: it can be read, checked and costed without the model."""

import json
from pathlib import Path

import pytest

from evener.config import load
from evener.estimate import estimate
from evener.protocols.error import DataError
from evener.team import rehearse

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "aime_qwen3.toml"
WORDS = [f"{letter}word" for letter in "abcdefghijkl"]


def problems(path: Path, *, count: int, first: int) -> None:
    """Problems that share no eight words."""
    lines: list[str] = []
    for number in range(first, first + count):
        told = " ".join(f"{word}{number * 7 + at}" for at, word in enumerate(WORDS))
        lines.append(json.dumps({"id": f"p{number}", "problem": told, "answer": str(number)}))
    path.write_text("\n".join(lines), "utf-8")


async def test_the_example_is_checked_and_its_cost_is_calls_and_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    problems(tmp_path / "data" / "aime-1983-2023.jsonl", count=900, first=0)
    problems(tmp_path / "data" / "aime-2024.jsonl", count=30, first=5_000)
    config = load(EXAMPLE)
    await rehearse(config)
    cost = estimate(config.plan, arms=0).behind(config)
    assert cost.cpu_seconds is None
    assert cost.calls == cost.rollouts * 15
    assert "million tokens read" in cost.sentence()
    problems(tmp_path / "data" / "aime-2024.jsonl", count=30, first=100)
    with pytest.raises(DataError, match=r"aime-2024\.jsonl"):
        await rehearse(load(EXAMPLE))
