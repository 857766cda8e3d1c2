"""Attention for batches whose rows begin alike: the common keys are read once, not once a row.

The library repeats grouped keys whenever a mask is given, and reads every row's copy of the same
prompt at every token; on a CPU both cost more than the rest of the attention.
"""

import contextlib
import threading
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from evener.agents.models.local.library import library

if TYPE_CHECKING:
    import torch

ATTENTION = "evener_sdpa"


class Run(NamedTuple):
    """Rows `first` … `last`−1 whose first `columns` tokens are the same."""

    first: int
    last: int
    columns: int


class _State(threading.local):
    runs: Sequence[Run] = ()


_STATE = _State()


@contextlib.contextmanager
def shared_runs(runs: Sequence[Run]) -> Generator[None]:
    """What the rows of the forward passes inside have in common; runs cover all rows in order."""
    _STATE.runs = runs
    try:
        yield
    finally:
        _STATE.runs = ()


def register() -> None:
    """Make this attention known to transformers under the name `ATTENTION`."""
    interface = library("transformers.modeling_utils").ALL_ATTENTION_FUNCTIONS
    if ATTENTION not in interface.valid_keys():
        interface.register(ATTENTION, _attend)


def _attend(
    module: Any,
    query: "torch.Tensor",
    key: "torch.Tensor",
    value: "torch.Tensor",
    mask: "torch.Tensor | None",
    scaling: float | None = None,
    **_options: Any,
) -> "tuple[torch.Tensor, None]":
    """The interface of transformers: [rows, heads, tokens, width] in, tokens before heads out."""
    import torch

    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    runs = _STATE.runs
    if mask is None or not any(run.columns for run in runs):
        output = _plain(query, key, value, mask, scale)
    else:
        parts = [
            (_shared if run.columns else _skip_shared)(
                query[run.first : run.last],
                key[run.first : run.last],
                value[run.first : run.last],
                mask[run.first : run.last],
                scale,
                run.columns,
            )
            for run in runs
        ]
        output = torch.cat(parts)
    return output.transpose(1, 2).contiguous(), None


def _plain(
    query: "torch.Tensor",
    key: "torch.Tensor",
    value: "torch.Tensor",
    mask: "torch.Tensor | None",
    scale: float,
) -> "torch.Tensor":
    import torch.nn.functional as nn

    return nn.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=mask,
        is_causal=mask is None and query.shape[2] > 1,
        scale=scale,
        enable_gqa=query.shape[1] != key.shape[1],
    )


def _skip_shared(
    query: "torch.Tensor",
    key: "torch.Tensor",
    value: "torch.Tensor",
    mask: "torch.Tensor",
    scale: float,
    _columns: int,
) -> "torch.Tensor":
    return _plain(query, key, value, mask, scale)


def _shared(
    query: "torch.Tensor",
    key: "torch.Tensor",
    value: "torch.Tensor",
    mask: "torch.Tensor",
    scale: float,
    columns: int,
) -> "torch.Tensor":
    """New tokens behind the first `columns`, for which the first row's keys stand for everybody's.

    One softmax over both parts, so the result is that of plain attention but for rounding.
    Source: Juravsky et al. 2024, "Hydragen", section 3.
    """
    import torch

    rows, heads, tokens, width = query.shape
    kinds = key.shape[1]
    group = heads // kinds
    each = group * tokens
    grouped = query.reshape(rows, kinds, each, width) * scale
    flat = grouped.transpose(0, 1).reshape(kinds, rows * each, width)
    common = torch.matmul(flat, key[0, :, :columns].transpose(1, 2))
    common = common.view(kinds, rows, each, columns).transpose(0, 1)
    own = torch.matmul(grouped, key[:, :, columns:].transpose(2, 3))
    # the mask is one for all heads: [rows, 1, tokens, columns]
    own = own.view(rows, kinds, group, tokens, -1) + mask[:, None, :, :, columns:]
    own = own.view(rows, kinds, each, -1)
    weights = torch.cat([common, own], dim=-1).softmax(dim=-1, dtype=torch.float32)
    weights = weights.to(query.dtype)
    output = torch.matmul(weights[..., columns:], value[:, :, columns:])
    flat = weights[..., :columns].transpose(0, 1).reshape(kinds, rows * each, columns)
    common = torch.matmul(flat, value[0, :, :columns])
    output += common.view(kinds, rows, each, width).transpose(0, 1)
    return output.reshape(rows, heads, tokens, width)
