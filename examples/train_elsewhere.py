"""A trainer for `external.command`: a LoRA on rows of tokens, with PEFT and a loop of a few lines.

python train_elsewhere.py ROWS OUT BASE SEED [STEPS]

It needs neither evener nor a chat template: the rows say which tokens stand where, and which of
them carry the loss. Exchange the loop for your own trainer; what is read and written counts.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, set_seed

IGNORED = -100


def labels(row: dict[str, Any]) -> list[int]:
    """The row's tokens where they carry the loss, elsewhere what the loss ignores."""
    made: list[int] = [IGNORED] * len(row["ids"])
    for start, end in row["spans"]:
        made[start:end] = row["ids"][start:end]
    return made


def train(
    rows: list[dict[str, Any]], base: str, *, steps: int, rate: float = 5e-3
) -> tuple[Any, list[float]]:
    """The adapter, and the loss of every step."""
    model: Any = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    settings = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
    model = get_peft_model(model, settings)
    optimiser = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=rate)
    losses: list[float] = []
    for step in range(steps):
        row = rows[step % len(rows)]
        ids, wanted = torch.tensor([row["ids"]]), torch.tensor([labels(row)])
        loss = model(input_ids=ids, labels=wanted).loss
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        losses.append(loss.item())
        print(f"step {step + 1} of {steps}: loss {losses[-1]:.3f}", flush=True)
    return model, losses


def main(rows_file: str, out: str, base: str, seed: str, steps: str = "0") -> None:
    """Train on ROWS and leave the adapter, and the answer, in OUT."""
    set_seed(int(seed))
    rows = [json.loads(line) for line in Path(rows_file).read_text("utf-8").splitlines()]
    model, losses = train(rows, base, steps=int(steps) or 3 * len(rows))
    model.save_pretrained(Path(out) / "adapter")
    answer = {"adapter": "adapter", "metrics": {"loss": losses[-1], "steps": len(losses)}}
    # last, and whole: evener reads it once this program has ended with 0
    (Path(out) / "result.json").write_text(json.dumps(answer), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
