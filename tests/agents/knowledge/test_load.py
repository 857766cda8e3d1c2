"""K as YAML: equal after reading, refused with the field where it is broken."""

from pathlib import Path

import pytest

from evener.agents.knowledge.load import dump_yaml, load, parse_yaml
from evener.protocols.error import KnowledgeError
from evener.protocols.knowledge import Knowledge


def test_it_comes_back_as_it_was(knowledge: Knowledge, tmp_path: Path) -> None:
    path = tmp_path / "k.yaml"
    path.write_text(dump_yaml(knowledge), "utf-8")
    again = load(path)
    assert again == knowledge
    assert again.digest() == knowledge.digest()
    assert dump_yaml(again) == dump_yaml(knowledge)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("hints:", "hint:", "hint: unknown field"),
        ("rule: unreadable", "rule: [unreadable]", "hints[repair_call].rule: expected text"),
        ("name: storefront", "name: &a storefront", "anchors are not allowed"),
    ],
)
def test_a_broken_file_says_where(before: str, after: str, said: str, knowledge: Knowledge) -> None:
    text = dump_yaml(knowledge)
    assert before in text
    with pytest.raises(KnowledgeError) as caught:
        parse_yaml(text.replace(before, after, 1), where="k.yaml")
    assert said in str(caught.value)
    assert "k.yaml" in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match="cannot be read"):
        load(tmp_path / "k.yaml")
