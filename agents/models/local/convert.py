"""A GGUF file becomes a folder that transformers loads, trains and saves.

transformers marks a GGUF load as quantized, which can be neither saved nor trained: the weights
are copied into a fresh model of the same architecture (float32).
"""

import contextlib
import io
import json
from pathlib import Path
from typing import Any

from evener.agents.models.local.library import library
from evener.protocols.error import ModelError

PAD = "<|endoftext|>"


def convert(gguf: Path, folder: Path) -> None:
    """Write config, safetensors, tokenizer, chat template and generation settings to `folder`.

    The padding token is `<|endoftext|>` and never the end-of-turn token; generation pads left.
    ModelError when the file is not a chat model that transformers can read.
    """
    # the libraries draw progress bars of their own, which no setting turns off
    with contextlib.redirect_stderr(io.StringIO()):
        _convert(gguf, folder)


def _convert(gguf: Path, folder: Path) -> None:
    transformers, torch = library("transformers"), library("torch")
    where = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(**where)
        source = transformers.AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    except (OSError, ValueError, KeyError, NotImplementedError) as error:
        raise ModelError(
            f"transformers cannot read this GGUF file ({error})", where=str(gguf)
        ) from error
    if not tokenizer.chat_template:
        raise ModelError("the GGUF file has no chat template", where=str(gguf))
    # a tokenizer may add a token that the model has no embedding for
    if tokenizer.get_vocab().get(PAD, source.config.vocab_size) >= source.config.vocab_size:
        raise ModelError(f"the vocabulary has no {PAD} to pad with", where=str(gguf))

    tokenizer.pad_token = PAD
    tokenizer.model_max_length = source.config.max_position_embeddings

    values: dict[str, Any] = source.config.to_dict()
    for key in ("quantization_config", "_name_or_path", "_model_name_or_path"):
        values.pop(key, None)
    config = transformers.AutoConfig.for_model(**values)
    config.pad_token_id = tokenizer.pad_token_id
    fresh = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    fresh.load_state_dict(source.state_dict())
    fresh.generation_config = transformers.GenerationConfig(
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    fresh.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    _settle(folder / "tokenizer_config.json")


def _settle(path: Path) -> None:
    """Write the padding side, which the library forgets, and drop what depends on this process.

    Equal weights get equal revisions on every machine.
    """
    settings: dict[str, Any] = json.loads(path.read_text("utf-8"))
    for key in ("is_local", "local_files_only", "name_or_path"):
        settings.pop(key, None)
    settings["padding_side"] = "left"
    path.write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n", "utf-8")
