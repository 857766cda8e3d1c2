"""Architectures other than the default: right, bounded to what is right, or refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest
import torch

from evener.agents.models.local.attention import ATTENTION
from evener.agents.models.local.batch import Batch
from evener.agents.models.local.library import library
from evener.agents.models.local.prefix import PrefixCache
from evener.agents.models.local.render import Renderer
from evener.agents.models.local.row import Row
from evener.agents.models.local.weights import Weights, load_tokenizer
from evener.protocols.error import ModelError
from evener.protocols.model import Sampling

SMALL: dict[str, Any] = {
    "vocab_size": 259,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "initializer_range": 0.2,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "bos_token_id": 1,
}


class Load(Protocol):
    def __call__(self, folder: Path, kind: str, **changes: Any) -> Weights: ...


@pytest.fixture
def load(save_model: Callable[[Path, Any], Path]) -> Load:
    def load(folder: Path, kind: str, **changes: Any) -> Weights:
        config = getattr(library("transformers"), kind)(**(SMALL | changes))
        return Weights(save_model(folder, config), load_tokenizer(folder))

    return load


def generate(weights: Weights, folder: Path, prompts: list[list[int]]) -> list[list[int]]:
    batch = Batch(
        weights,
        Renderer(load_tokenizer(folder)),
        max_rows=8,
        kv_bytes=1 << 30,
        prefix=PrefixCache(1024),
    )
    rows = [Row(ids=ids, sampling=Sampling(max_tokens=8), limit=8) for ids in prompts]
    with torch.inference_mode():
        batch.join(rows, owner="base")
        while batch.rows:
            batch.step()
    return [row.out for row in rows]


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("LlamaConfig", {}),
        ("Qwen2Config", {}),
        ("Qwen3Config", {"head_dim": 16}),
        ("MistralConfig", {"sliding_window": None}),
        ("Gemma2Config", {"head_dim": 16, "sliding_window": 256}),
        ("Phi3Config", {}),
        ("GPTNeoXConfig", {}),
    ],
)
def test_an_architecture_answers_as_transformers_own_generate(
    load: Load, tmp_path: Path, kind: str, changes: dict[str, Any]
) -> None:
    weights = load(tmp_path, kind, **changes)
    shared = list(range(20, 90))
    prompts = [shared + [n] * n for n in (3, 9, 5)] + [list(range(30, 41))]
    found = generate(weights, tmp_path, prompts)
    for ids, out in zip(prompts, found, strict=True):
        expected = weights.model.generate(torch.tensor([ids]), max_new_tokens=8, do_sample=False)
        assert out == expected[0, len(ids) :].tolist()


def test_an_architecture_whose_attention_is_not_plain_uses_the_librarys_own(
    load: Load, tmp_path: Path
) -> None:
    capped = load(tmp_path / "a", "Gemma2Config", head_dim=16, attn_logit_softcapping=0.5)
    assert capped.model.config._attn_implementation == "eager"
    plain = load(tmp_path / "b", "LlamaConfig")
    assert plain.model.config._attn_implementation == ATTENTION
    half = Weights(tmp_path / "b", load_tokenizer(tmp_path / "b"), dtype="bfloat16")
    assert half.model.config._attn_implementation == ATTENTION


def test_a_sliding_window_bounds_the_context(load: Load, tmp_path: Path) -> None:
    assert load(tmp_path / "a", "MistralConfig", sliding_window=64).window == 64
    assert load(tmp_path / "b", "MistralConfig", sliding_window=None).window == 256


def test_a_model_with_recurrent_state_is_refused_in_one_line(load: Load, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be served in batches") as caught:
        load(tmp_path, "MambaConfig", state_size=4)
    assert "\n" not in str(caught.value)
    assert "vLLM" in str(caught.value)


def test_every_end_of_turn_that_is_configured_ends_a_turn(load: Load, tmp_path: Path) -> None:
    weights = load(tmp_path, "LlamaConfig")
    assert weights.ends == frozenset({2})
    settings = tmp_path / "generation_config.json"
    settings.write_text(settings.read_text().replace('"eos_token_id": 2', '"eos_token_id": [2, 0]'))
    assert Weights(tmp_path, load_tokenizer(tmp_path)).ends == frozenset({0, 2})
