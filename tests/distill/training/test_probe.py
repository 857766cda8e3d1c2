"""AD-02: an adapter that changes nothing, does not belong, or did not learn is not let through."""

from pathlib import Path
from typing import Any

import pytest

from evener.agents.models.local.library import library
from evener.distill.rows.build import Row
from evener.distill.settings import SftSettings
from evener.distill.training.probe import ends_of, probe
from evener.distill.training.spec import ProbeReport, TrainSpec

FALLING = [4.0, 3.0, 2.0, 1.0]


def spec(student: Path) -> TrainSpec:
    ids = tuple(range(3, 30))
    return TrainSpec(
        model=str(student),
        base_name="tiny-student",
        rows=(Row(task="t", kind="", trajectory="e", ids=ids, spans=((20, 27),)),),
        settings=SftSettings(probe_tokens=8),
        seed=0,
        out="",
        ends=(2,),
        threads=1,
    )


def saved(student: Path, folder: Path, **changes: Any) -> Path:
    """An adapter that has learnt nothing yet; with init_lora_weights=False, something random."""
    peft, transformers = library("peft"), library("transformers")
    library("torch").manual_seed(1)
    base = transformers.AutoModelForCausalLM.from_pretrained(student)
    given: dict[str, Any] = {"r": 4, "target_modules": "all-linear", "task_type": "CAUSAL_LM"}
    model = peft.get_peft_model(base, peft.LoraConfig(**(given | changes)))
    model.save_pretrained(str(folder), save_embedding_layers=False)
    text = (folder / "adapter_config.json").read_text()
    (folder / "adapter_config.json").write_text(text.replace(str(student), "tiny-student"))
    return folder


def probed(student: Path, folder: Path, losses: list[float] = FALLING) -> ProbeReport:
    return probe(spec(student), folder, losses, precision="float32", device="cpu")


def test_a_b_matrix_of_zeros_changes_nothing(student: Path, tmp_path: Path) -> None:
    report = probed(student, saved(student, tmp_path / "a"))
    assert any("every B matrix is zero" in fault for fault in report.faults)
    assert report.tensors == 28


def test_tensors_under_another_prefix_match_nothing(student: Path, tmp_path: Path) -> None:
    folder = saved(student, tmp_path / "a", init_lora_weights=False)
    files, path = library("safetensors.torch"), folder / "adapter_model.safetensors"
    tensors = files.load_file(path)
    moved = {k.replace("model.model.", "model.language_model."): v for k, v in tensors.items()}
    files.save_file(moved, path)
    assert any("0 of 28 LoRA tensors match" in fault for fault in probed(student, folder).faults)


def test_a_student_that_never_stops_is_not_let_through(student: Path, tmp_path: Path) -> None:
    report = probed(student, saved(student, tmp_path / "a", init_lora_weights=False))
    assert report.distance > 0
    assert report.faults == ("it ended its turn within 8 tokens on 0 of 1 prompts",)


def test_a_student_of_the_format_alone_need_not_come_to_an_end(
    student: Path, tmp_path: Path
) -> None:
    folder = saved(student, tmp_path / "a", init_lora_weights=False)
    asked = spec(student)
    alone = asked.model_copy(
        update={"settings": asked.settings.model_copy(update={"mask": "format"})}
    )
    report = probe(alone, folder, FALLING, precision="float32", device="cpu")
    assert (report.stopped, report.faults) == (0, ())


@pytest.mark.parametrize("losses", [[1.0, 1.0, 2.0, 2.0], [1.0], [], [1.0, float("nan")]])
def test_a_loss_that_did_not_fall_is_a_fault(
    student: Path, tmp_path: Path, losses: list[float]
) -> None:
    report = probed(student, saved(student, tmp_path / "a", init_lora_weights=False), losses)
    assert any("loss" in fault for fault in report.faults)


def test_the_ends_of_a_loss_history_are_means_of_quarters() -> None:
    assert ends_of([8.0, 6.0, 5.0, 4.0, 4.0, 3.0, 2.0, 1.0]) == (7.0, 1.5)
