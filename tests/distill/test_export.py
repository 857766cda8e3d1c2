"""What is given away works without evener: transformers and PEFT alone load it and agree."""

from pathlib import Path
from typing import Any

import pytest

from evener.agents.models.local.library import library
from evener.distill.export import export
from evener.protocols.error import ModelError

PROMPT = [1, 5, 9, 20, 31, 40, 2, 7]


def logits(model: Any) -> Any:
    torch = library("torch")
    with torch.inference_mode():
        return model.eval()(input_ids=torch.tensor([PROMPT])).logits


@pytest.mark.slow
def test_adapter_and_merged_model_answer_alike_and_carry_the_template(
    trained: Any, student: Path, tmp_path: Path
) -> None:
    peft, torch = library("peft"), library("torch")
    loader = library("transformers").AutoModelForCausalLM
    folder = trained.runs / "m1"
    light = export(folder, tmp_path / "light", base=student, merged=False)
    whole = export(folder, tmp_path / "whole", base=student, merged=True)
    base = logits(loader.from_pretrained(student))
    adapted = logits(peft.PeftModel.from_pretrained(loader.from_pretrained(student), light))
    merged = logits(loader.from_pretrained(whole))
    assert not torch.allclose(base, adapted, atol=1e-2)
    assert torch.allclose(adapted, merged, atol=1e-3)
    for out in (light, whole):
        tokenizer = library("transformers").AutoTokenizer.from_pretrained(out)
        assert tokenizer.chat_template == (folder / "chat_template.jinja").read_text()


@pytest.mark.slow
def test_a_folder_that_is_not_empty_is_left_alone(
    trained: Any, student: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(ModelError, match="something already"):
        export(trained.runs / "m1", tmp_path / "out", base=student, merged=False)
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["thesis.txt"]


@pytest.mark.slow
def test_another_base_is_refused(trained: Any, tmp_path: Path) -> None:
    (tmp_path / "other-student").mkdir()
    with pytest.raises(ModelError, match="belongs to tiny-student, not to other-student"):
        export(trained.runs / "m1", tmp_path / "out", base=tmp_path / "other-student", merged=True)


def test_a_folder_without_a_sealed_adapter_is_refused(student: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no sealed adapter"):
        export(tmp_path, tmp_path / "out", base=student, merged=False)
