"""Does a folder hold a chat model? Everything that is wrong is said at once.

Only names, headers and sizes are read, so the check costs milliseconds at any model size.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from evener.protocols.error import ModelError


def check_folder(folder: Path) -> None:
    """Raise ModelError, naming everything that is missing, unless `folder` holds a chat model."""
    if not folder.is_dir():
        what = "is a file, not a model folder" if folder.exists() else "does not exist"
        raise ModelError(what, where=str(folder), remedy="give a folder with config.json")
    if (folder / "adapter_config.json").is_file() and not (folder / "config.json").is_file():
        raise ModelError(
            "this is an adapter without its base model",
            where=str(folder),
            remedy="give the base as the model and load the adapter onto it",
        )
    wrong = [*_config_faults(folder), *_weight_faults(folder), *_tokenizer_faults(folder)]
    if wrong:
        raise ModelError(
            "not a model that can be loaded: " + "; ".join(wrong),
            where=str(folder),
            remedy="give a folder written by save_pretrained of model and tokenizer",
        )


def _config_faults(folder: Path) -> list[str]:
    config = _json(folder / "config.json")
    if config is None:
        return ["config.json is missing or is not JSON"]
    return [] if isinstance(config.get("model_type"), str) else ["config.json has no model_type"]


def _weight_faults(folder: Path) -> list[str]:
    index = _json(folder / "model.safetensors.index.json")
    shards = set(index.get("weight_map", {}).values()) if index else set[str]()
    names = sorted(shards) if shards else [p.name for p in sorted(folder.glob("*.safetensors"))]
    if not names:
        return ["no *.safetensors weights"]
    return [fault for name in names if (fault := safetensors_fault(folder / name))]


def safetensors_fault(path: Path) -> str:
    """What is wrong with a weights file, read from its header and size alone, or ''."""
    if not path.is_file():
        return f"{path.name} is missing"
    size = path.stat().st_size
    with path.open("rb") as stream:
        start = stream.read(64)
        if start.startswith(b"version https://git-lfs"):
            return f"{path.name} is a git-lfs pointer, not weights"
        length = int.from_bytes(start[:8], "little")
        if size < 8 or length > size - 8:
            return f"{path.name} is cut short or not safetensors"
        stream.seek(8)
        try:
            header: dict[str, Any] = json.loads(stream.read(length))
        except ValueError:
            return f"{path.name} is not safetensors"
    ends = [v["data_offsets"][1] for k, v in header.items() if k != "__metadata__"]
    if not ends:
        return f"{path.name} holds no tensors"
    return "" if max(ends) + 8 + length == size else f"{path.name} is cut short"


def _tokenizer_faults(folder: Path) -> list[str]:
    faults: list[str] = []
    files = ("tokenizer.json", "tokenizer.model", "vocab.json")
    if not any((folder / name).is_file() for name in files):
        faults.append("no tokenizer (tokenizer.json)")
    settings = _json(folder / "tokenizer_config.json") or {}
    if not (folder / "chat_template.jinja").is_file() and not settings.get("chat_template"):
        faults.append("no chat template (chat_template.jinja)")
    return faults


def _json(path: Path) -> dict[str, Any] | None:
    try:
        return TypeAdapter(dict[str, Any]).validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
