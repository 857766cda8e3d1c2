"""Is the adapter that was saved one that changes the student, and for the better?

The base is loaded afresh and the adapter from its files, as a server would. A fault found here
blocks the model before any rollout is spent on it.
"""

import gc
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evener.agents.models.local.adapter import TENSORS, check_adapter
from evener.agents.models.local.library import library
from evener.agents.models.local.weights import quiet_bars
from evener.distill.training.spec import ProbeReport, TrainSpec

if TYPE_CHECKING:
    import torch


def probe(
    spec: TrainSpec, folder: Path, losses: Sequence[float] | None, *, precision: str, device: str
) -> ProbeReport:
    """Check the adapter in `folder` against the model, its loss history and a few prompts. `losses`
    None: it was trained elsewhere, and they are not known."""
    gc.collect()
    import torch

    transformers = library("transformers")
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    with quiet_bars():
        base: Any = transformers.AutoModelForCausalLM.from_pretrained(
            spec.model, dtype=dtype, local_files_only=True
        )
    base.to(device).eval()
    names = (spec.base_name, spec.model, Path(spec.model).name)
    faults = check_adapter(base, folder, base_names=names)
    tensors = _count(folder)
    first = last = None
    if losses is not None:
        first, last = ends_of(losses)
        if not losses or not all(math.isfinite(loss) for loss in losses):
            faults.append("the loss is not a finite number")
        elif last >= first:
            faults.append(f"the loss did not fall ({first:.3f} → {last:.3f})")
    report = ProbeReport(
        tensors=tensors,
        distance=0.0,
        asked=0,
        stopped=0,
        loss_first=first if first is not None and math.isfinite(first) else None,
        loss_last=last if last is not None and math.isfinite(last) else None,
        faults=tuple(faults),
    )
    if faults:
        return report
    prompts = _prompts(spec)
    with torch.inference_mode():
        without = [_logprobs(base, prompt) for prompt in prompts]
        adapted = library("peft").PeftModel.from_pretrained(base, str(folder))
        adapted.to(dtype).eval()
        distance = max(
            float((_logprobs(adapted, prompt) - before).abs().max())
            for prompt, before in zip(prompts, without, strict=True)
        )
        stopped = sum(_stops(adapted, prompt, spec) for prompt in prompts)
    if not distance > 0:
        faults.append("its log-probabilities are the base model's")
    # who was not taught what stands in a call may never come to its end
    if 2 * stopped < len(prompts) and spec.settings.mask != "format":
        limit = spec.settings.probe_tokens
        faults.append(
            f"it ended its turn within {limit} tokens on {stopped} of {len(prompts)} prompts"
        )
    return report.model_copy(
        update={
            "distance": distance,
            "asked": len(prompts),
            "stopped": stopped,
            "faults": tuple(faults),
        }
    )


def ends_of(losses: Sequence[float]) -> tuple[float, float]:
    """Mean loss of the first and of the last quarter of the steps."""
    if not losses:
        return math.nan, math.nan
    part = max(1, len(losses) // 4)
    return sum(losses[:part]) / part, sum(losses[-part:]) / part


def _prompts(spec: TrainSpec) -> list[list[int]]:
    """Prompts of the training rows up to the first reply, from rows far apart."""
    step = max(1, len(spec.rows) // spec.settings.probe_prompts)
    chosen = spec.rows[::step][: spec.settings.probe_prompts]
    return [list(row.ids[: row.spans[0][0]]) for row in chosen]


def _count(folder: Path) -> int:
    if not (folder / TENSORS).is_file():
        return 0
    tensors: dict[str, Any] = library("safetensors.torch").load_file(folder / TENSORS)
    return sum(".lora_" in name for name in tensors)


def _logprobs(model: Any, prompt: Sequence[int]) -> "torch.Tensor":
    import torch

    ids = torch.tensor([list(prompt)], device=model.device)
    logits: torch.Tensor = model(input_ids=ids, use_cache=False, logits_to_keep=1).logits[0, -1]
    return torch.nn.functional.log_softmax(logits.float(), dim=-1)


def _stops(model: Any, prompt: Sequence[int], spec: TrainSpec) -> bool:
    """Whether the student, greedy, ends its turn by itself within the limit."""
    import torch

    ids = torch.tensor([list(prompt)], device=model.device)
    output: list[int] = model.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        do_sample=False,
        max_new_tokens=spec.settings.probe_tokens,
        eos_token_id=list(spec.ends),
        pad_token_id=spec.ends[0],
    )[0, ids.shape[1] :].tolist()
    return any(token in spec.ends for token in output)
