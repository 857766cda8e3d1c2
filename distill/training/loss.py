"""The loss of a batch of rows, computed without what does not change it.

Equal beginnings are computed once and carry the gradients of all their rows; logits are made at
the trained positions alone. Both are exact: in float32 loss and gradients agree with the plain
ones to rounding, which `prove` checks on the very model before it is trained this way.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evener.agents.models.local.library import library
from evener.distill.rows.mask import IGNORED
from evener.distill.training.grouping import Group, group

if TYPE_CHECKING:
    import torch

_PAD = 0  # any id will do: it stands behind a row's end, where causal attention never looks


@dataclass(frozen=True)
class RowLoss:
    """Sums of −log p over the trained tokens of `model`, a causal language model with LoRA."""

    model: Any
    pass_tokens: int

    def passes(
        self, ids: Sequence[Sequence[int]], labels: Sequence[Sequence[int]]
    ) -> "Iterator[torch.Tensor]":
        """One sum after another, each with its own graph; together they are the batch's."""
        first = [next(i for i, x in enumerate(row) if x != IGNORED) for row in labels]
        for part in group(ids, first, pass_tokens=self.pass_tokens):
            yield self._sum(part, [ids[r] for r in part.rows], [labels[r] for r in part.rows])

    def _sum(
        self, part: Group, ids: Sequence[Sequence[int]], labels: Sequence[Sequence[int]]
    ) -> "torch.Tensor":
        import torch

        causal = self.model.get_base_model()
        device = causal.get_input_embeddings().weight.device
        rest = [torch.tensor(row[part.prefix :]) for row in ids]
        goals = [torch.tensor(row[part.prefix :]) for row in labels]
        pad = torch.nn.utils.rnn.pad_sequence
        inputs = pad(rest, batch_first=True, padding_value=_PAD).to(device)
        targets = pad(goals, batch_first=True, padding_value=IGNORED).to(device)[:, 1:]
        cache: Any = None
        if part.prefix:
            cache = library("transformers").DynamicCache(config=causal.config)
            beginning = torch.tensor([list(ids[0][: part.prefix])], device=device)
            causal.base_model(input_ids=beginning, past_key_values=cache, use_cache=True)
            cache.batch_repeat_interleave(len(ids))
        hidden = causal.base_model(
            input_ids=inputs, past_key_values=cache, use_cache=cache is not None
        ).last_hidden_state[:, :-1]
        trained = targets != IGNORED
        logits = causal.get_output_embeddings()(hidden[trained]).float()
        loss: torch.Tensor = torch.nn.functional.cross_entropy(
            logits, targets[trained], reduction="sum"
        )
        return loss


def prove(model: Any, *, vocabulary: int, pass_tokens: int) -> bool:
    """Whether `RowLoss` gives this model's own loss: two rows with a shared beginning.

    Architectures whose logits are scaled or capped, or whose layers remember otherwise than by
    keys and values, fail here and are trained the plain way.
    """
    import torch

    shared = [(7 * i + 3) % vocabulary for i in range(40)]
    rows = [[*shared, *((11 * i + k) % vocabulary for i in range(6 + k))] for k in (1, 4)]
    labels = [[*([IGNORED] * 42), *row[42:]] for row in rows]
    was_training: bool = model.training
    model.eval()
    try:
        with torch.no_grad():
            ours = sum(float(x) for x in RowLoss(model, pass_tokens).passes(rows, labels))
            plain = sum(_plain(model, row, goal) for row, goal in zip(rows, labels, strict=True))
    except (AttributeError, TypeError, ValueError, RuntimeError, KeyError, NotImplementedError):
        return False
    finally:
        model.train(was_training)
    bound = 1e-4 if next(model.parameters()).dtype == torch.float32 else 2e-2
    return abs(ours - plain) <= bound * max(1.0, abs(plain))


def _plain(model: Any, row: list[int], labels: list[int]) -> float:
    import torch

    device = model.get_base_model().get_input_embeddings().weight.device
    logits = model(input_ids=torch.tensor([row], device=device), use_cache=False).logits[0, :-1]
    targets = torch.tensor(labels[1:], device=device)
    loss = torch.nn.functional.cross_entropy(
        logits.float(), targets, ignore_index=IGNORED, reduction="sum"
    )
    return float(loss)
