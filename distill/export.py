"""Give a trained student away: the adapter, or base and adapter in one, usable without evener.

Either folder carries the tokenizer and the chat template that the rows were drawn with.
"""

import shutil
from pathlib import Path
from typing import Any

from evener.agents.models.local.adapter import CONFIG, TENSORS
from evener.agents.models.local.engine import model_name
from evener.agents.models.local.library import library
from evener.agents.models.local.weights import load_tokenizer, quiet_bars
from evener.agents.record.beside import beside, settle
from evener.distill.adapter import MANIFEST, TEMPLATE, read_adapter
from evener.protocols.error import ModelError


def export(folder: Path, out: Path, *, base: Path, merged: bool) -> Path:
    """Write the adapter in `folder`, or with `merged` the whole model, to the new folder `out`.

    `base` is the folder of the model it was trained on. Raises ModelError where the adapter is
    damaged, belongs to another base, or `out` is not empty.
    """
    manifest = read_adapter(folder)
    if manifest is None or manifest.model is None:
        what = "no sealed adapter here, or it is damaged" if manifest is None else manifest.reason
        raise ModelError(what, where=str(folder), remedy="give a folder under models/ of a run")
    if manifest.base.base not in (model_name(base), base.name):
        raise ModelError(
            f"the adapter belongs to {manifest.base.base}, not to {model_name(base)}",
            where=str(folder),
            remedy="name the base model it was trained on",
        )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ModelError(
            "there is something already", where=str(out), remedy="give a folder that is new"
        )
    with beside(out) as part:
        if merged:
            _write_merged(folder, part, base)
        else:
            for name in (CONFIG, TENSORS, MANIFEST):
                shutil.copy2(folder / name, part / name)
        tokenizer = load_tokenizer(base)
        if (folder / TEMPLATE).is_file():
            tokenizer.chat_template = (folder / TEMPLATE).read_text("utf-8")
        tokenizer.save_pretrained(str(part))
        if out.exists():
            out.rmdir()
        settle(part, out)
    return out


def _write_merged(folder: Path, out: Path, base: Path) -> None:
    peft, transformers = library("peft"), library("transformers")
    with quiet_bars():
        model: Any = transformers.AutoModelForCausalLM.from_pretrained(
            str(base), dtype="auto", local_files_only=True
        )
        whole = peft.PeftModel.from_pretrained(model, str(folder)).merge_and_unload()
        whole.save_pretrained(str(out))
