import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest
import torch
from safetensors.torch import load_file, save_file

from evener.agents.models.local.adapter import Adapters
from evener.agents.models.local.engine import LocalEngine
from evener.agents.models.local.library import library
from evener.agents.models.local.weights import Weights, load_tokenizer
from evener.protocols.error import ModelError
from evener.protocols.message import Message
from evener.protocols.model import ModelRef, Request, Sampling

ASK = Request(messages=(Message(role="user", content="hello"),), sampling=Sampling(max_tokens=10))


class SaveAdapter(Protocol):
    def __call__(self, base: Path, folder: Path, **changes: Any) -> Path: ...


BASE = ModelRef(base="tiny-llama", revision="0")


@pytest.fixture
def adapter(lora: Path, tmp_path: Path) -> Path:
    """A copy of the adapter that a test may damage."""
    return Path(shutil.copytree(lora, tmp_path / "m1"))


def adapters(tiny: Path) -> Adapters:
    return Adapters(Weights(tiny, load_tokenizer(tiny)), BASE, base_names=["tiny-llama"])


def set_config(folder: Path, **values: Any) -> None:
    path = folder / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def rewrite(folder: Path, change: Any) -> None:
    path = folder / "adapter_model.safetensors"
    save_file(change(load_file(path)), path)


async def test_one_engine_answers_with_base_and_adapters_in_turn(tiny: Path, lora: Path) -> None:
    engine = LocalEngine(tiny, threads=1)
    base = await engine.complete(ASK)
    ref = await engine.load_adapter("m1", lora)
    assert (ref.base, ref.adapter) == ("tiny-llama", "m1")
    assert ref.revision != engine.ref.revision
    adapted = await engine.use(ref).complete(ASK)
    again = await engine.use(engine.ref).complete(ASK)
    assert adapted.token_ids != base.token_ids
    assert again.token_ids == base.token_ids
    assert (adapted.model, again.model) == (ref, engine.ref)
    await engine.close()


async def test_requests_for_base_and_adapter_at_once_are_kept_apart(tiny: Path, lora: Path) -> None:
    engine = LocalEngine(tiny, threads=1, max_batch=4)
    ref = await engine.load_adapter("m1", lora)
    views = [engine.use(ref), engine.use(engine.ref)]
    together = await asyncio.gather(*(views[n % 2].complete(ASK) for n in range(10)))
    alone = [await view.complete(ASK) for view in views]
    assert [r.token_ids for r in together] == [alone[n % 2].token_ids for n in range(10)]
    assert [r.model for r in together] == [views[n % 2].ref for n in range(10)]
    await engine.close()


def test_an_adapter_gives_the_logits_of_the_merged_model(tiny: Path, lora: Path) -> None:
    loaded = adapters(tiny)
    ref = loaded.load("m1", lora)
    loaded.activate(ref)
    ids = torch.arange(3, 40)[None]
    transformers, peft = library("transformers"), library("peft")
    merged = peft.PeftModel.from_pretrained(
        transformers.AutoModelForCausalLM.from_pretrained(tiny), str(lora)
    ).merge_and_unload()
    with torch.inference_mode():
        ours = loaded.weights.model(input_ids=ids).logits
        theirs = merged(input_ids=ids).logits
    torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


async def test_generation_with_an_adapter_is_generation_by_the_merged_model(
    tiny: Path, lora: Path
) -> None:
    engine = LocalEngine(tiny, threads=1)
    reply = await engine.use(await engine.load_adapter("m1", lora)).complete(ASK)
    transformers, peft = library("transformers"), library("peft")
    merged = peft.PeftModel.from_pretrained(
        transformers.AutoModelForCausalLM.from_pretrained(tiny), str(lora)
    ).merge_and_unload()
    ids = engine.render(ASK.messages)
    expected = merged.generate(torch.tensor([ids]), max_new_tokens=10, do_sample=False)
    assert list(reply.token_ids or ()) == expected[0, len(ids) :].tolist()
    await engine.close()


def test_the_base_is_bit_for_bit_itself_after_adapters_came_and_went(
    tiny: Path, lora: Path, adapter: Path
) -> None:
    loaded = adapters(tiny)
    ids = torch.arange(3, 40)[None]
    with torch.inference_mode():
        before = loaded.weights.model(input_ids=ids).logits
        rewrite(adapter, lambda tensors: {n: t * 1.5 for n, t in tensors.items()})
        refs = [loaded.load("m1", lora), loaded.load("m2", adapter)]
        adapted: list[torch.Tensor] = []
        for ref in (refs[0], refs[1], BASE, refs[1], refs[0]):
            loaded.activate(ref)
            adapted.append(loaded.weights.model(input_ids=ids).logits)
        loaded.activate(BASE)
        after = loaded.weights.model(input_ids=ids).logits
    assert torch.equal(before, after)
    assert torch.equal(before, adapted[2])
    assert torch.equal(adapted[0], adapted[4])
    assert torch.equal(adapted[1], adapted[3])
    assert not torch.allclose(adapted[0], adapted[1])
    assert not torch.allclose(adapted[0], before)


@pytest.mark.parametrize("changes", [{"use_rslora": True}, {"use_dora": True}])
def test_variants_of_lora_are_served_as_peft_computes_them(
    tiny: Path, tmp_path: Path, save_adapter: SaveAdapter, changes: dict[str, Any]
) -> None:
    folder = save_adapter(tiny, tmp_path / "m1", **changes)
    loaded = adapters(tiny)
    loaded.activate(loaded.load("m1", folder))
    transformers, peft = library("transformers"), library("peft")
    plain = peft.PeftModel.from_pretrained(
        transformers.AutoModelForCausalLM.from_pretrained(tiny), str(folder)
    )
    ids = torch.arange(3, 40)[None]
    with torch.inference_mode():
        ours = loaded.weights.model(input_ids=ids).logits
        theirs = plain(input_ids=ids).logits
    torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


@pytest.mark.filterwarnings("ignore:Model has .tie_word_embeddings:UserWarning")
def test_an_adapted_layer_that_is_tied_to_another_leaves_the_other_alone(
    save_model: Callable[[Path, Any], Path],
    save_adapter: SaveAdapter,
    tiny: Path,
    tmp_path: Path,
) -> None:
    config = library("transformers").AutoConfig.from_pretrained(tiny)
    config.tie_word_embeddings = True
    base = save_model(tmp_path / "tiny-llama", config)
    folder = save_adapter(base, tmp_path / "m1", target_modules=["lm_head", "q_proj"])
    loaded = adapters(base)
    loaded.activate(loaded.load("m1", folder))
    transformers, peft = library("transformers"), library("peft")
    plain = peft.PeftModel.from_pretrained(
        transformers.AutoModelForCausalLM.from_pretrained(base), str(folder)
    )
    ids = torch.arange(3, 40)[None]
    with torch.inference_mode():
        ours = loaded.weights.model(input_ids=ids).logits
        theirs = plain(input_ids=ids).logits
    torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


def test_equal_content_has_one_ref_and_other_content_another(
    tiny: Path, lora: Path, adapter: Path
) -> None:
    loaded = adapters(tiny)
    ref = loaded.load("m1", lora)
    assert loaded.load("m1", adapter) == ref
    rewrite(adapter, lambda tensors: {n: t * 2 for n, t in tensors.items()})
    assert loaded.load("m1", adapter).revision != ref.revision


def test_every_clash_with_the_server_is_named_in_one_message(tiny: Path, adapter: Path) -> None:
    set_config(adapter, base_model_name_or_path="", modules_to_save=["lm_head"], bias="all")
    with pytest.raises(ModelError) as caught:
        adapters(tiny).load("m1", adapter)
    line = str(caught.value)
    assert "its base is ''" in line
    assert "tiny-llama" in line
    assert "lm_head" in line
    assert "bias" in line
    assert "\n" not in line


def test_an_adapter_of_another_base_is_refused(tiny: Path, adapter: Path) -> None:
    set_config(adapter, base_model_name_or_path="base-7b")
    with pytest.raises(ModelError, match="'base-7b'"):
        adapters(tiny).load("m1", adapter)


@pytest.mark.parametrize("name", ["adapter_config.json", "adapter_model.safetensors"])
def test_a_folder_without_adapter_files_is_refused(tiny: Path, adapter: Path, name: str) -> None:
    (adapter / name).unlink()
    with pytest.raises(ModelError, match=name):
        adapters(tiny).load("m1", adapter)


def test_weights_cut_short_are_refused(tiny: Path, adapter: Path) -> None:
    path = adapter / "adapter_model.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ModelError, match="cut short"):
        adapters(tiny).load("m1", adapter)


def test_an_adapter_whose_names_match_nothing_is_refused(tiny: Path, adapter: Path) -> None:
    def rename(tensors: dict[str, Any]) -> dict[str, Any]:
        old, new = "base_model.model.model.", "base_model.model.language_model."
        return {name.replace(old, new): tensor for name, tensor in tensors.items()}

    rewrite(adapter, rename)
    with pytest.raises(ModelError, match=r"0 of 28 LoRA tensors match the model"):
        adapters(tiny).load("m1", adapter)


def test_one_tensor_that_matches_nothing_is_enough_to_refuse(tiny: Path, adapter: Path) -> None:
    def rename(tensors: dict[str, Any]) -> dict[str, Any]:
        first, *rest = tensors
        return {first.replace("layers.", "layer."): tensors[first]} | {n: tensors[n] for n in rest}

    rewrite(adapter, rename)
    with pytest.raises(ModelError, match=r"27 of 28 LoRA tensors match"):
        adapters(tiny).load("m1", adapter)


def test_an_adapter_of_a_model_of_another_width_is_refused(tiny: Path, adapter: Path) -> None:
    def widen(tensors: dict[str, Any]) -> dict[str, Any]:
        return {n: t.repeat(1, 2) if ".lora_A" in n else t for n, t in tensors.items()}

    rewrite(adapter, widen)
    with pytest.raises(ModelError, match="14 of 28"):
        adapters(tiny).load("m1", adapter)


def test_an_adapter_that_changes_nothing_is_refused(tiny: Path, adapter: Path) -> None:
    def zero(tensors: dict[str, Any]) -> dict[str, Any]:
        return {n: t * 0 if ".lora_B" in n else t for n, t in tensors.items()}

    rewrite(adapter, zero)
    with pytest.raises(ModelError, match="every B matrix is zero"):
        adapters(tiny).load("m1", adapter)


def test_numbers_that_are_not_finite_are_refused(tiny: Path, adapter: Path) -> None:
    rewrite(adapter, lambda tensors: {n: t / 0 for n, t in tensors.items()})
    with pytest.raises(ModelError, match="not finite"):
        adapters(tiny).load("m1", adapter)


def test_tensors_that_would_replace_the_bases_own_are_refused(tiny: Path, adapter: Path) -> None:
    def add(tensors: dict[str, Any]) -> dict[str, Any]:
        return tensors | {"base_model.model.lm_head.weight": torch.zeros(259, 64)}

    rewrite(adapter, add)
    with pytest.raises(ModelError, match=r"1 tensors that would replace the base's \(.*lm_head"):
        adapters(tiny).load("m1", adapter)


def test_a_rank_that_contradicts_the_tensors_is_refused(tiny: Path, adapter: Path) -> None:
    set_config(adapter, r=8)
    with pytest.raises(ModelError, match="refused") as caught:
        adapters(tiny).load("m1", adapter)
    assert "\n" not in str(caught.value)


async def test_a_refused_adapter_leaves_the_engine_as_it_was(
    tiny: Path, lora: Path, adapter: Path
) -> None:
    engine = LocalEngine(tiny, threads=1)
    before = await engine.complete(ASK)
    set_config(adapter, r=8)
    with pytest.raises(ModelError):
        await engine.load_adapter("m1", adapter)
    with pytest.raises(ModelError, match="not loaded"):
        engine.use(ModelRef(base="tiny-llama", adapter="m1", revision="unknown"))
    assert (await engine.complete(ASK)).token_ids == before.token_ids
    good = engine.use(await engine.load_adapter("m1", lora))
    assert (await good.complete(ASK)).token_ids != before.token_ids
    await engine.close()
