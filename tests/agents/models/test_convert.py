import json
from pathlib import Path
from typing import Any

import pytest
import torch

from evener.agents.models.local.convert import convert
from evener.agents.models.local.folder import check_folder
from evener.agents.models.local.library import library
from evener.agents.models.local.weights import Weights, load_tokenizer
from evener.protocols.error import ModelError

WIDTH, HEADS, KINDS, INNER, LAYERS = 64, 4, 2, 96, 2
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>{% endfor %}"
)


def write_gguf(path: Path, *, template: str = TEMPLATE, pad: str = "<|endoftext|>") -> None:
    """A llama of two layers, its matrices in the 4-bit form of the published student."""
    gguf: Any = library("gguf")
    numpy: Any = library("numpy")
    tokenizers: Any = library("tokenizers")
    alphabet: list[str] = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tokens = [pad, *SPECIAL[1:], *alphabet, *(a + b for a, b in zip("abc", "bcd", strict=True))]
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("tiny")
    writer.add_context_length(512)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KINDS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3, 3] + [1] * (len(tokens) - 3))
    writer.add_token_merges(["a b", "b c", "c d"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(2)
    if template:
        writer.add_chat_template(template)
    random = numpy.random.default_rng(0)

    def add(name: str, *shape: int) -> None:
        values = random.normal(0, 0.1, shape).astype(numpy.float32)
        if len(shape) == 1:
            writer.add_tensor(name, values + 1)
            return
        kind = gguf.GGMLQuantizationType.Q4_1
        writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)

    add("token_embd.weight", len(tokens), WIDTH)
    add("output_norm.weight", WIDTH)
    for layer in range(LAYERS):
        for name, shape in {
            "attn_norm": (WIDTH,),
            "attn_q": (WIDTH, WIDTH),
            "attn_k": (WIDTH * KINDS // HEADS, WIDTH),
            "attn_v": (WIDTH * KINDS // HEADS, WIDTH),
            "attn_output": (WIDTH, WIDTH),
            "ffn_norm": (WIDTH,),
            "ffn_gate": (INNER, WIDTH),
            "ffn_up": (INNER, WIDTH),
            "ffn_down": (WIDTH, INNER),
        }.items():
            add(f"blk.{layer}.{name}.weight", *shape)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_a_converted_folder_loads_answers_as_the_file_and_can_be_saved(tmp_path: Path) -> None:
    source, folder = tmp_path / "tiny.gguf", tmp_path / "model"
    folder.mkdir()
    write_gguf(source)
    convert(source, folder)
    check_folder(folder)
    transformers = library("transformers")
    direct = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file="tiny.gguf")
    converted = transformers.AutoModelForCausalLM.from_pretrained(folder)
    ids = torch.arange(3, 40)[None]
    with torch.inference_mode():
        assert torch.equal(direct(ids).logits, converted(ids).logits)
    converted.save_pretrained(tmp_path / "again")
    assert "quantization_config" not in json.loads((folder / "config.json").read_text())


def test_padding_is_never_the_end_of_turn_and_lies_left(tmp_path: Path) -> None:
    write_gguf(tmp_path / "tiny.gguf")
    folder = tmp_path / "model"
    folder.mkdir()
    convert(tmp_path / "tiny.gguf", folder)
    tokenizer = load_tokenizer(folder)
    assert (tokenizer.pad_token, tokenizer.eos_token) == ("<|endoftext|>", "<|im_end|>")
    assert tokenizer.padding_side == "left"
    assert tokenizer.chat_template == TEMPLATE
    assert tokenizer("abcd <|im_end|>")["input_ids"][-1] == 2
    weights = Weights(folder, tokenizer)
    assert weights.model.generation_config.pad_token_id == 0
    assert weights.ends == frozenset({2})
    assert weights.window == 512


def test_conversions_of_one_file_are_equal_byte_for_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_gguf(tmp_path / "tiny.gguf")
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder, offline in zip(folders, ("0", "1"), strict=True):
        folder.mkdir()
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", offline == "1")
        convert(tmp_path / "tiny.gguf", folder)
    names = sorted(path.name for path in folders[0].iterdir())
    assert names == sorted(path.name for path in folders[1].iterdir())
    for name in names:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"template": ""}, "no chat template"), ({"pad": "<|x|>"}, r"no <\|endoftext\|> to pad")],
)
def test_a_file_that_cannot_be_chatted_with_is_refused(
    tmp_path: Path, changes: dict[str, str], said: str
) -> None:
    write_gguf(tmp_path / "tiny.gguf", **changes)
    with pytest.raises(ModelError, match=said):
        convert(tmp_path / "tiny.gguf", tmp_path)


def test_a_file_that_is_no_gguf_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"not a model")
    with pytest.raises(ModelError, match="cannot read") as caught:
        convert(tmp_path / "tiny.gguf", tmp_path)
    assert "\n" not in str(caught.value)
