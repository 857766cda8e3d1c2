"""What is computed once must not change the loss: sums and gradients against the plain way."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evener.agents.models.local.library import library
from evener.distill.rows.mask import IGNORED, labels
from evener.distill.training.grouping import Group, group
from evener.distill.training.loss import RowLoss, prove


def adapted(folder: Path) -> Any:
    """The tiny student in float32 with a LoRA whose B is not zero."""
    peft, torch = library("peft"), library("torch")
    torch.manual_seed(3)
    base = library("transformers").AutoModelForCausalLM.from_pretrained(folder)
    lora = peft.LoraConfig(
        r=4, target_modules="all-linear", task_type="CAUSAL_LM", init_lora_weights=False
    )
    return peft.get_peft_model(base, lora)


def batch() -> tuple[list[list[int]], list[list[int]]]:
    """Five rows of unequal lengths: three share 40 tokens, two others 36, spans in the middle."""
    one, two = [5 + i % 90 for i in range(40)], [100 + i % 80 for i in range(36)]
    rows, goals = [], []
    for number, start in enumerate((one, two, one, two, one)):
        ids = [*start, *(60 + 7 * number + i for i in range(8 + 3 * number)), 2]
        rows.append(ids)
        goals.append(labels(ids, [(len(start) + 2, len(start) + 4), (len(ids) - 3, len(ids))]))
    return rows, goals


def plain_sum(model: Any, ids: Sequence[Sequence[int]], goals: Sequence[Sequence[int]]) -> Any:
    """The library's own logits, one row after another, padded by nothing."""
    torch = library("torch")
    total = 0
    for row, goal in zip(ids, goals, strict=True):
        logits = model(input_ids=torch.tensor([list(row)])).logits[0, :-1]
        total = total + torch.nn.functional.cross_entropy(
            logits, torch.tensor(goal[1:]), ignore_index=IGNORED, reduction="sum"
        )
    return total


def gradients(model: Any, loss: Any) -> Any:
    model.zero_grad()
    loss.backward()
    return library("torch").cat([p.grad.flatten() for p in model.parameters() if p.requires_grad])


def test_rows_that_begin_alike_are_computed_behind_one_beginning() -> None:
    ids, goals = batch()
    first = [next(i for i, x in enumerate(row) if x != IGNORED) for row in goals]
    groups = group(ids, first)
    assert sorted((sorted(g.rows), g.prefix) for g in groups) == [([0, 2, 4], 40), ([1, 3], 36)]


def test_a_beginning_ends_before_what_predicts_the_first_trained_token() -> None:
    same = list(range(50))
    assert group([same, same], [40, 45], least=8)[0].prefix == 39
    assert group([same, same], [45, 40], least=8)[0].prefix == 39


def test_short_beginnings_and_full_passes_are_not_shared() -> None:
    same = list(range(50))
    alone = [Group((0,), 0), Group((1,), 0)]
    assert group([same, same], [20, 20], least=32) == alone
    assert group([same, same], [40, 40], least=8, pass_tokens=60) == alone


def test_loss_and_gradients_are_the_plain_ones(student: Path) -> None:
    torch = library("torch")
    model, (ids, goals) = adapted(student), batch()
    parts = list(RowLoss(model, 4096).passes(ids, goals))
    assert len(parts) == 2
    ours = library("torch").stack(parts).sum()
    plain = plain_sum(model, ids, goals)
    assert ours.item() == pytest.approx(plain.item(), rel=1e-5)
    wanted = gradients(model, plain)
    found = gradients(model, sum(RowLoss(model, 4096).passes(ids, goals)))
    assert float(wanted.norm()) > 0
    assert torch.allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_the_proof_passes_for_a_llama_and_fails_where_logits_are_scaled(student: Path) -> None:
    model = adapted(student)
    vocabulary = model.config.vocab_size
    assert prove(model, vocabulary=vocabulary, pass_tokens=4096)
    causal = model.get_base_model()
    forward = causal.forward

    def scaled(*arguments: Any, **options: Any) -> Any:
        output = forward(*arguments, **options)
        output.logits = output.logits * 3
        return output

    causal.forward = scaled
    assert not prove(model, vocabulary=vocabulary, pass_tokens=4096)
