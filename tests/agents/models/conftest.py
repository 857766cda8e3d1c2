"""A student of two layers with random weights and a byte tokenizer: real code, no download."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evener.agents.models.local.library import library

os.environ.setdefault("HF_HUB_OFFLINE", "1")

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def byte_tokenizer(window: int) -> Any:
    """One token a byte, and three special tokens with ids 0, 1, 2."""
    tokenizers = library("tokenizers")
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    vocabulary = {text: index for index, text in enumerate(special)}
    for character in sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()):
        vocabulary[character] = len(vocabulary)
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens([tokenizers.AddedToken(text, special=True) for text in special])
    return library("transformers").PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        padding_side="left",
        model_max_length=window,
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
    )


def save_tiny(folder: Path, config: Any, *, seed: int = 0) -> Path:
    """Random weights for `config` with the byte tokenizer, as a model folder."""
    library("torch").manual_seed(seed)
    model = library("transformers").AutoModelForCausalLM.from_config(config)
    # no special token is ever the likeliest: a greedy reply goes on until its limit
    model.get_output_embeddings().weight.data[:3] = 0
    model.generation_config.eos_token_id = 2
    model.generation_config.pad_token_id = 0
    model.save_pretrained(folder)
    byte_tokenizer(config.max_position_embeddings).save_pretrained(folder)
    return folder


def tiny_config(**changes: Any) -> Any:
    """A Llama with grouped keys, large enough weights that its answers differ."""
    values: dict[str, Any] = {
        "vocab_size": 259,
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 2048,
        "initializer_range": 0.15,
        "eos_token_id": 2,
        "pad_token_id": 0,
        "bos_token_id": 1,
    }
    return library("transformers").LlamaConfig(**(values | changes))


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a random Llama: 64 wide, 2 layers, a window of 2048."""
    library("torch").set_num_threads(1)
    return save_tiny(tmp_path_factory.mktemp("tiny") / "tiny-llama", tiny_config())


@pytest.fixture
def save_model() -> Callable[[Path, Any], Path]:
    """Writes random weights of a configuration into a folder."""
    return save_tiny


@pytest.fixture
def model_folder(tiny: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model that a test may damage."""
    return Path(shutil.copytree(tiny, tmp_path / "student"))


def save_lora(base: Path, folder: Path, *, seed: int = 1, **changes: Any) -> Path:
    """An adapter with random A and B on every linear layer of `base`."""
    peft = library("peft")
    library("torch").manual_seed(seed)
    model = library("transformers").AutoModelForCausalLM.from_pretrained(base)
    options: dict[str, Any] = {"r": 4, "lora_alpha": 8, "target_modules": "all-linear"}
    options |= {"task_type": "CAUSAL_LM", "init_lora_weights": False} | changes
    adapted = peft.get_peft_model(model, peft.LoraConfig(**options))
    adapted.save_pretrained(str(folder), save_embedding_layers=False)
    settings = json.loads((folder / "adapter_config.json").read_text())
    settings["base_model_name_or_path"] = base.name
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    return folder


@pytest.fixture
def save_adapter() -> Callable[..., Path]:
    """Writes an adapter with random weights for a base into a folder."""
    return save_lora


@pytest.fixture(scope="session")
def lora(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adapter for the tiny model."""
    return save_lora(tiny, tmp_path_factory.mktemp("lora") / "m1")
