"""Supervised fine-tuning of a LoRA adapter on rows: TRL's trainer, with the loss of loss.py.

The base is frozen, in bfloat16 where the hardware computes in it; the adapter and the optimiser
are in float32. Runs in the training process only.
"""

import contextlib
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evener.agents.models.local.adapter import CONFIG
from evener.agents.models.local.library import library
from evener.agents.models.local.weights import quiet_bars, resolve_dtype
from evener.distill.rows.mask import IGNORED, labels
from evener.distill.training.loss import RowLoss, prove
from evener.distill.training.spec import Stepped, TrainSpec

if TYPE_CHECKING:
    import torch

Report = Callable[[Stepped], None]


class Trained:
    """An adapter in memory: the PEFT model, the loss of every step, and how it was computed."""

    def __init__(
        self,
        model: Any,
        losses: list[float],
        *,
        precision: Literal["float32", "bfloat16"],
        shared: bool,
    ) -> None:
        self.model = model
        self.losses = losses
        self.precision: Literal["float32", "bfloat16"] = precision
        self.shared = shared


def fine_tune(spec: TrainSpec, report: Report, *, scratch: Path, device: str) -> Trained:
    """Train on all rows for all epochs; `report` hears of every step."""
    import torch

    trl = library("trl")
    settings = spec.settings
    precision = resolve_dtype(settings.precision, device=device)
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    # PEFT draws the adapter's first weights from the global generator
    library("transformers").set_seed(spec.seed)
    model = _adapted(spec, dtype=dtype, device=device)
    shared = prove(model, vocabulary=model.config.vocab_size, pass_tokens=settings.pass_tokens)
    arguments = trl.SFTConfig(
        output_dir=str(scratch),
        per_device_train_batch_size=settings.batch_rows,
        num_train_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="cosine",
        # the warm-up's first step moves nothing: few steps must not all be spent on it
        warmup_steps=min(settings.warmup_steps, _steps(spec) // 4),
        seed=spec.seed,
        data_seed=spec.seed,
        use_cpu=device == "cpu",
        bf16=False,
        fp16=False,
        gradient_checkpointing=False,
        max_length=None,
        dataset_kwargs={"skip_prepare_dataset": True},
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    data = library("datasets").Dataset.from_dict(
        {
            "input_ids": [list(row.ids) for row in spec.rows],
            "labels": [labels(row.ids, row.spans) for row in spec.rows],
        }
    )
    trainer = _trainer_class(shared=shared, precision=precision, device=device)(
        model=model,
        args=arguments,
        train_dataset=data,
        processing_class=_tokenizer(spec),
        callbacks=[_reporting(report)],
    )
    trainer.pass_tokens = settings.pass_tokens
    # the trainer prints its logs on standard output, which is ours
    with contextlib.redirect_stdout(None):
        trainer.train()
    losses = [float(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry]
    return Trained(trainer.model, losses, precision=precision, shared=shared)


def _steps(spec: TrainSpec) -> int:
    """Optimiser steps of the whole training."""
    return math.ceil(len(spec.rows) / spec.settings.batch_rows) * spec.settings.epochs


def save(model: Any, folder: Path, *, base_name: str) -> None:
    """Write settings and tensors of the adapter; its base is called by name, not by a path of this
    machine."""
    model.save_pretrained(str(folder), save_embedding_layers=False)
    # the library's model card is a form that nobody has filled in
    (folder / "README.md").unlink(missing_ok=True)
    settings = json.loads((folder / CONFIG).read_text("utf-8"))
    settings["base_model_name_or_path"] = base_name
    (folder / CONFIG).write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n", "utf-8")


def _adapted(spec: TrainSpec, *, dtype: Any, device: str) -> Any:
    """The frozen base with a fresh LoRA on every linear layer but the head."""
    transformers, peft = library("transformers"), library("peft")
    with quiet_bars():
        base = transformers.AutoModelForCausalLM.from_pretrained(
            spec.model, dtype=dtype, local_files_only=True
        ).to(device)
    lora = peft.LoraConfig(
        r=spec.settings.rank,
        lora_alpha=spec.settings.alpha,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    return peft.get_peft_model(base, lora)


def _tokenizer(spec: TrainSpec) -> Any:
    tokenizer = library("transformers").AutoTokenizer.from_pretrained(
        spec.model, local_files_only=True
    )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def _trainer_class(*, shared: bool, precision: str, device: str) -> Any:
    """TRL's trainer; where the loss was proven, with that loss, pass by pass.

    Every pass frees its graph before the next one: a batch needs the memory of its largest.
    """
    import torch

    trainer: Any = library("trl").SFTTrainer

    def computing() -> contextlib.AbstractContextManager[object]:
        kind = torch.device(device).type
        half = precision == "bfloat16"
        return torch.autocast(kind, dtype=torch.bfloat16) if half else contextlib.nullcontext()

    class RowTrainer(trainer):  # type: ignore[misc]
        pass_tokens: int

        def training_step(
            self, model: Any, inputs: dict[str, Any], num_items_in_batch: Any = None
        ) -> "torch.Tensor":
            model.train()
            lengths = inputs["attention_mask"].sum(1).tolist()
            ids = [row[:n] for row, n in zip(inputs["input_ids"].tolist(), lengths, strict=True)]
            goals = [row[:n] for row, n in zip(inputs["labels"].tolist(), lengths, strict=True)]
            count = sum(label != IGNORED for row in goals for label in row)
            total = torch.zeros((), device=self.args.device)
            passes = RowLoss(model, self.pass_tokens).passes(ids, goals)
            while True:
                # inside autocast PEFT need not widen every layer's input to the adapter's float32
                with computing(), library("peft.helpers").disable_input_dtype_casting(model):
                    part = next(passes, None)
                if part is None:
                    return torch.div(total, count)
                self.accelerator.backward(part / count)
                total += part.detach()

    class PlainTrainer(trainer):  # type: ignore[misc]
        pass_tokens: int

        def compute_loss(self, *arguments: Any, **options: Any) -> Any:
            with computing():
                return trainer.compute_loss(self, *arguments, **options)

    return RowTrainer if shared else PlainTrainer


def _reporting(report: Report) -> Any:
    callback: Any = library("transformers").TrainerCallback
    began, cpu = time.monotonic(), time.process_time()

    class Reporting(callback):  # type: ignore[misc]
        def on_log(
            self, _args: Any, state: Any, _control: Any, logs: Any = None, **_options: Any
        ) -> None:
            if logs and "loss" in logs:
                report(
                    Stepped(
                        step=int(state.global_step),
                        steps=int(state.max_steps),
                        loss=float(logs["loss"]),
                        seconds=time.monotonic() - began,
                        cpu_seconds=time.process_time() - cpu,
                    )
                )

    return Reporting()
