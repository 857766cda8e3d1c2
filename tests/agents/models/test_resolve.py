import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from evener.agents.models.local.resolve import resolve
from evener.protocols.error import ModelError


def safetensors(path: Path, *, cut: int = 0) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
    data = struct.pack("<Q", len(header)) + header + b"\0" * 16
    path.write_bytes(data[: len(data) - cut])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "student"
    path.mkdir()
    (path / "config.json").write_text('{"model_type": "llama"}')
    (path / "tokenizer.json").write_text("{}")
    (path / "chat_template.jinja").write_text("{{ messages }}")
    safetensors(path / "model.safetensors")
    return path


def test_a_whole_folder_is_its_own_answer(folder: Path) -> None:
    assert resolve(str(folder)) == folder.resolve()


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("config.json", "config.json is missing"),
        ("tokenizer.json", "no tokenizer"),
        ("chat_template.jinja", "no chat template"),
        ("model.safetensors", r"no \*.safetensors weights"),
    ],
)
def test_a_missing_file_is_named(folder: Path, missing: str, said: str) -> None:
    (folder / missing).unlink()
    with pytest.raises(ModelError, match=said):
        resolve(str(folder))


def test_everything_that_is_missing_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        resolve(str(tmp_path))
    line = str(caught.value)
    assert "config.json" in line
    assert "weights" in line
    assert "tokenizer" in line
    assert "\n" not in line


def test_weights_cut_short_are_found_without_loading(folder: Path) -> None:
    safetensors(folder / "model.safetensors", cut=3)
    with pytest.raises(ModelError, match="cut short"):
        resolve(str(folder))


def test_a_pointer_file_in_place_of_weights_is_named(folder: Path) -> None:
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(ModelError, match="git-lfs pointer"):
        resolve(str(folder))


def test_a_shard_named_by_the_index_and_absent_is_found(folder: Path) -> None:
    index = {"weight_map": {"w": "model.safetensors", "v": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelError, match=r"model-2.safetensors is missing"):
        resolve(str(folder))


def test_an_adapter_is_not_taken_for_a_model(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelError, match="adapter without its base"):
        resolve(str(tmp_path))


def test_a_file_or_an_absent_path_is_not_a_model(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_text("")
    with pytest.raises(ModelError, match="is a file"):
        resolve(str(tmp_path / "x.gguf"))
    with pytest.raises(ModelError, match="does not exist"):
        resolve(str(tmp_path / "absent"))


def test_a_word_that_names_nothing_says_what_may_be_given() -> None:
    with pytest.raises(ModelError, match="'embedded', a folder that exists, or a hub id"):
        resolve("embeded")


def test_a_hub_model_offline_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match="not in the hub's cache") as caught:
        resolve("evener-test/absent", offline=True)
    assert "\n" not in str(caught.value)


def test_the_models_package_loads_no_heavy_library() -> None:
    code = (
        "import sys, evener.agents.models, evener.agents.models.local.resolve;"
        "heavy = {'torch', 'transformers', 'peft', 'huggingface_hub', 'numpy'} & set(sys.modules);"
        "sys.exit(' '.join(sorted(heavy)) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
