"""An adapter's layers with its product added in, beside the untouched originals.

A merged layer costs what the base's costs. The originals are put back by reference, never by
subtraction: the base is bit for bit what it was, however often adapters change.
"""

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import torch

_MOST_BYTES = 2 << 30
"""A copy of the adapted layers larger than this is not made: they then compute both terms."""


class _Layer(NamedTuple):
    layer: Any
    base: Any
    original: "torch.Tensor"
    merged: "torch.Tensor"


class Merged:
    """The layers of adapter `name` in a model that PEFT has adapted, merged once."""

    def __init__(self, model: Any, name: str) -> None:
        self.name = name
        self._layers: list[_Layer] = []
        adapted: list[Any] = [
            module
            for module in model.modules()
            if name in getattr(module, "lora_A", ()) and hasattr(module.get_base_layer(), "weight")
        ]
        uses = Counter(id(value) for module in model.modules() for value in _own(module))
        sizes = [layer.get_base_layer().weight.nbytes for layer in adapted]
        if sum(sizes) > _MOST_BYTES:
            return
        for layer in adapted:
            base = layer.get_base_layer()
            original = base.weight.data
            # a tied weight is somebody else's too: that layer computes both terms
            if uses[id(base.weight)] > 1:
                continue
            layer.merge(safe_merge=True, adapter_names=[name])
            self._layers.append(_Layer(layer, base, original, base.weight.data))
        self.take_out()

    def put_in(self) -> None:
        """The adapter's layers compute with the merged weights."""
        for layer, base, _, merged in self._layers:
            base.weight.data = merged
            layer.merged_adapters[:] = [self.name]

    def take_out(self) -> None:
        """Every layer has the base's weights again."""
        for layer, base, original, _ in self._layers:
            base.weight.data = original
            layer.merged_adapters.clear()


def _own(module: Any) -> "list[torch.Tensor]":
    return list(module.parameters(recurse=False))
