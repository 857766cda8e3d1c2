"""Adapters on a server of our own: checked, loaded under a fresh name, probed, made room for."""

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evener.agents.models.cache import CachedModel, MemoryReplies
from evener.agents.models.local.adapter import CONFIG, TENSORS, adapter_ref
from evener.agents.models.vllm.server import ManagedServer
from evener.protocols.error import InfraError, ModelError
from evener.protocols.port import Adaptable


def rewrite(folder: Path, **changes: Any) -> None:
    path = folder / CONFIG
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


async def test_an_adapter_is_loaded_probed_and_answers_beside_the_base(
    student: Any, fake: Any, journal: Any, ask: Any, lora: Path
) -> None:
    async with student() as model:
        anything: object = model
        assert isinstance(anything, Adaptable)
        ref = await model.load_adapter("m1", lora)
        assert ref == adapter_ref(model.ref, "m1", lora)
        trained, base = model.use(ref), model.use(model.ref)
        assert (trained.ref, base.ref) == (ref, model.ref)
        texts = [(await one.complete(ask("x"))).text for one in (trained, base, model)]
        assert texts == ["changed: the base says this", *["the base says this"] * 2]
        assert (await trained.complete(ask("x"))).model == ref
        # equal content again: the same ref, and nothing is sent
        assert await model.load_adapter("m1", lora) == ref
        (load,) = fake.asked("load")
        assert load["lora_path"] == str(lora)
        assert load["lora_name"].startswith(f"m1-{ref.revision[:12]}-")
        assert journal.events == ["starting", "ready", "loaded"]


async def test_views_go_through_the_cache_as_for_every_model(
    student: Any, ask: Any, lora: Path
) -> None:
    async with student() as model:
        cached = CachedModel(model, MemoryReplies())
        ref = await cached.load_adapter("m1", lora)
        assert (await cached.use(ref).complete(ask())).text.startswith("changed")
        assert (await cached.use(ref).complete(ask())).usage.cached_calls == 1


async def test_an_adapter_that_changes_nothing_counts_as_not_loaded(
    student: Any, fake: Any, journal: Any, lora: Path, ask: Any
) -> None:
    fake.script({"1": {"deaf": True}})
    async with student() as model:
        with pytest.raises(ModelError, match="answers with it as it does without it"):
            await model.load_adapter("m1", lora)
        ref = adapter_ref(model.ref, "m1", lora)
        with pytest.raises(ModelError, match="not loaded"):
            model.use(ref)
        assert model.adapters.names == ()
        assert (await model.complete(ask())).text
    assert [one["kind"] for one in fake.asked("load", "unload")] == ["load", "unload"]
    assert journal.events == ["starting", "ready", "loaded", "unloaded"]


async def test_every_clash_is_said_at_once_and_the_server_is_not_asked(
    student: Any, fake: Any, save_adapter: Callable[..., Path], tiny: Path, tmp_path: Path
) -> None:
    adapter = save_adapter(tiny, tmp_path / "m1", r=64)
    rewrite(adapter, base_model_name_or_path="", modules_to_save=["lm_head"])
    async with student(rank=16) as model:
        with pytest.raises(ModelError) as caught:
            await model.load_adapter("m1", adapter)
    line = str(caught.value)
    assert "its base is '', the model served is 'tiny-llama'" in line
    assert "replaces whole modules (['lm_head'])" in line
    assert "its rank is 64 and the server takes 16" in line
    assert "student.vllm.max_lora_rank = 64" in line
    assert fake.pids == []


async def test_room_for_a_larger_rank_can_be_asked_for(
    student: Any, fake: Any, save_adapter: Callable[..., Path], tiny: Path, tmp_path: Path
) -> None:
    adapter = save_adapter(tiny, tmp_path / "m1", r=64)
    async with student(rank=16, max_lora_rank=64) as model:
        await model.load_adapter("m1", adapter)
    given = fake.asked("start")[0]["arguments"]
    assert given[given.index("--max-lora-rank") + 1] == "64"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"use_dora": True}, "DoRA"),
        ({"rank_pattern": {"q_proj": 2}}, "rank_pattern"),
        ({"peft_type": "LOHA"}, "only LORA is served"),
        ({"base_model_name_or_path": "another-7b"}, "'another-7b'"),
    ],
)
async def test_what_vllm_does_not_serve_is_refused_before_it_is_asked(
    student: Any,
    fake: Any,
    save_adapter: Callable[..., Path],
    tiny: Path,
    tmp_path: Path,
    changes: dict[str, Any],
    said: str,
) -> None:
    adapter = save_adapter(tiny, tmp_path / "m1")
    rewrite(adapter, **changes)
    async with student() as model:
        with pytest.raises(ModelError, match=said):
            await model.load_adapter("m1", adapter)
    assert fake.pids == []


async def test_keys_that_match_no_module_are_counted_and_refused(
    student: Any, fake: Any, save_adapter: Callable[..., Path], tiny: Path, tmp_path: Path
) -> None:
    from safetensors.torch import load_file, save_file

    adapter = save_adapter(tiny, tmp_path / "m1")
    tensors = load_file(adapter / TENSORS)
    moved = {
        key.replace("model.layers", "model.language_model.layers"): t for key, t in tensors.items()
    }
    save_file(moved, adapter / TENSORS)
    async with student() as model:
        with pytest.raises(ModelError, match=rf"0 of {len(tensors)} LoRA tensors match"):
            await model.load_adapter("m1", adapter)
        (adapter / TENSORS).unlink()
        with pytest.raises(ModelError, match="missing"):
            await model.load_adapter("m1", adapter)
    assert fake.pids == []


async def test_the_server_s_own_refusal_is_told_in_its_words(
    student: Any, fake: Any, lora: Path
) -> None:
    fake.script({"1": {"refuse_load": "LoRA rank 64 is greater than max_lora_rank 16."}})
    async with student() as model:
        with pytest.raises(ModelError, match="LoRA rank 64 is greater than max_lora_rank 16"):
            await model.load_adapter("m1", lora)


async def test_adapters_are_loaded_again_after_a_crash(
    student: Any, fake: Any, journal: Any, lora: Path, ask: Any
) -> None:
    async with student() as model:
        ref = await model.load_adapter("m1", lora)
        trained = model.use(ref)
        gone = model.serving_at.life.gone
        os.kill(fake.pids[0], signal.SIGKILL)
        await asyncio.wait_for(asyncio.shield(gone), 60)
        replies = await asyncio.gather(*(trained.complete(ask(str(n))) for n in range(6)))
        assert {reply.text for reply in replies} == {"changed: the base says this"}
    loads = fake.asked("load")
    assert [one["life"] for one in loads] == [1, 2]
    assert loads[0]["lora_name"] == loads[1]["lora_name"]


async def test_a_crash_while_an_adapter_is_loaded_is_another_try(
    student: Any, fake: Any, journal: Any, lora: Path, ask: Any
) -> None:
    fake.script({"1": {"crash_on_load": True}})
    async with student() as model:
        ref = await model.load_adapter("m1", lora)
        assert (await model.use(ref).complete(ask())).text.startswith("changed")
    assert journal.events == ["starting", "ready", "died", "starting", "ready", "loaded"]


async def test_a_crash_at_every_load_ends(student: Any, fake: Any, lora: Path) -> None:
    fake.script({"then": {"crash_on_load": True}})
    async with student(restarts=1) as model:
        with pytest.raises(ModelError, match="started 2 times"):
            await model.load_adapter("m1", lora)


async def test_the_oldest_idle_adapter_makes_room_and_comes_back_when_asked(
    student: Any, fake: Any, save_adapter: Callable[..., Path], tiny: Path, tmp_path: Path, ask: Any
) -> None:
    folders = [save_adapter(tiny, tmp_path / f"m{n}", seed=n) for n in range(3)]
    async with student(adapters=2) as model:
        refs = [await model.load_adapter(f"m{n}", folder) for n, folder in enumerate(folders)]
        names = [one["lora_name"] for one in fake.asked("load")]
        assert list(model.adapters.names) == names[1:]
        reply = await model.use(refs[0]).complete(ask())
        assert (reply.text, reply.model) == ("changed: the base says this", refs[0])
        assert list(model.adapters.names) == [names[2], names[0]]
        await asyncio.gather(*model.adapters._trims)
    moved = [(one["kind"], one["lora_name"]) for one in fake.asked("load", "unload")]
    first, second, third = names
    expected = [("load", first), ("load", second), ("load", third), ("unload", first)]
    assert moved == [*expected, ("load", first), ("unload", second)]


async def test_an_adapter_in_use_is_not_unloaded(
    student: Any, fake: Any, save_adapter: Callable[..., Path], tiny: Path, tmp_path: Path, ask: Any
) -> None:
    folders = [save_adapter(tiny, tmp_path / f"m{n}", seed=n) for n in range(3)]
    fake.script({"1": {"delay": 0.3}})
    async with student(adapters=1) as model:
        refs = [await model.load_adapter(f"m{n}", folder) for n, folder in enumerate(folders)]
        views = [model.use(ref) for ref in refs]
        replies = await asyncio.gather(*(v.complete(ask(str(n))) for v in views for n in range(4)))
        assert {reply.text for reply in replies} == {"changed: the base says this"}
        assert len(model.adapters.names) == 1


async def test_files_that_changed_after_the_probe_are_not_served(
    student: Any, fake: Any, save_adapter: Callable[..., Path], tiny: Path, tmp_path: Path, ask: Any
) -> None:
    adapter = save_adapter(tiny, tmp_path / "m1")
    async with student() as model:
        ref = await model.load_adapter("m1", adapter)
        save_adapter(tiny, adapter, seed=9)
        gone = model.serving_at.life.gone
        assert isinstance(model.serving_at, ManagedServer)
        os.kill(fake.pids[0], signal.SIGKILL)
        await asyncio.wait_for(asyncio.shield(gone), 60)
        with pytest.raises(ModelError, match=r"is \w+ now and was"):
            await model.use(ref).complete(ask())


async def test_a_crash_in_the_middle_reaches_only_those_who_wait(
    student: Any, fake: Any, lora: Path, ask: Any
) -> None:
    fake.script({"1": {"hang_after": 7}})
    async with student() as model:
        ref = await model.load_adapter("m1", lora)
        views = [model, model.use(ref)]
        waiting = [asyncio.create_task(view.complete(ask())) for view in views]
        await asyncio.sleep(0.3)
        os.kill(fake.pids[0], signal.SIGKILL)
        results = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(r, InfraError) and r.kind == "server_died" for r in results)
        texts = [(await view.complete(ask())).text for view in views]
        assert texts == ["the base says this", "changed: the base says this"]
