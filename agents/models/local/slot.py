"""The key-value memory of a batch: one slot a row, written in place, every row at its own length.

Rows start at column 0 whatever their length, so joining, leaving and resuming from a cached
prefix are copies of one slot. Invariant: rows occupy slots 0 … n−1, and every column that a mask
can hide holds finite numbers.
"""

from typing import TYPE_CHECKING, Any

from evener.agents.models.local.library import library
from evener.protocols.digest import Wire

if TYPE_CHECKING:
    import torch

_ROUND = 64


class Geometry(Wire):
    """Shape of one token's keys and values. `bytes_per_token` counts all layers, both kinds."""

    layers: int
    heads: int
    width: int
    bytes_per_token: int


class Slots:
    """Keys and values [layers, 2, rows, heads, columns, width], and the part a forward writes."""

    def __init__(self, geometry: Geometry, *, dtype: "torch.dtype", device: str) -> None:
        self._geometry = geometry
        self._dtype = dtype
        self._device = device
        self._memory = self._zeros(0, 0)
        self._rows: torch.Tensor | None = None
        self._write: torch.Tensor | None = None
        self._span = (0, 0, 0)
        layers = [_Layer(self, index) for index in range(geometry.layers)]
        self.cache: Any = library("transformers").Cache(layers=layers)

    def reserve(self, rows: int, columns: int) -> None:
        """Make room for `rows` rows of `columns` tokens; what is stored stays."""
        _, _, had_rows, _, had_columns, _ = self._memory.shape
        # one column more than any row needs: padding writes there and nothing reads it
        columns = -(-(columns + 1) // _ROUND) * _ROUND
        if rows <= had_rows and columns <= had_columns:
            return
        grown = self._zeros(max(rows, had_rows), max(columns, had_columns))
        grown[:, :, :had_rows, :, :had_columns] = self._memory
        self._memory = grown

    def release(self) -> None:
        """Give the memory back; for a batch without rows."""
        self._memory = self._zeros(0, 0)

    def aim(self, first: int, positions: "torch.Tensor", pad: "torch.Tensor") -> int:
        """The next forward writes row `first + i` at `positions[i]`; [rows, tokens], both.

        Entries of `pad` are written to the spare column. Returns how many columns are read.
        """
        import torch

        rows = positions.shape[0]
        columns = int(positions.max()) + 1
        spare = self._memory.shape[-2] - 1
        self._rows = torch.arange(first, first + rows, device=positions.device)[:, None]
        self._write = torch.where(pad, spare, positions)
        self._span = (first, first + rows, columns)
        return columns

    def put(self, slot: int, column: int, block: "torch.Tensor") -> None:
        """Write keys and values [layers, 2, heads, tokens, width] of one row."""
        self._memory[:, :, slot, :, column : column + block.shape[-2]] = block

    def take(self, slot: int, start: int, stop: int) -> "torch.Tensor":
        """A copy of one row's columns, [layers, 2, heads, tokens, width]."""
        return self._memory[:, :, slot, :, start:stop].clone()

    def move(self, source: int, target: int, length: int) -> None:
        """Copy a row's first `length` columns to another slot."""
        self._memory[:, :, target, :, :length] = self._memory[:, :, source, :, :length]

    def write(
        self, index: int, keys: "torch.Tensor", values: "torch.Tensor"
    ) -> "tuple[torch.Tensor, torch.Tensor]":
        """Store one layer's new keys and values where `aim` said; all columns up to there."""
        first, last, columns = self._span
        layer = self._memory[index]
        layer[0][self._rows, :, self._write] = keys.transpose(1, 2)
        layer[1][self._rows, :, self._write] = values.transpose(1, 2)
        return layer[0, first:last, :, :columns], layer[1, first:last, :, :columns]

    def _zeros(self, rows: int, columns: int) -> "torch.Tensor":
        import torch

        shape = (self._geometry.layers, 2, rows, self._geometry.heads, columns)
        return torch.zeros(*shape, self._geometry.width, dtype=self._dtype, device=self._device)


class _Layer:
    """What transformers asks of one layer of a cache."""

    is_compileable = False
    is_sliding = False
    is_croppable = False
    is_initialized = True

    def __init__(self, slots: Slots, index: int) -> None:
        self._slots = slots
        self._index = index

    def update(
        self, keys: "torch.Tensor", values: "torch.Tensor", *_args: object, **_options: object
    ) -> "tuple[torch.Tensor, torch.Tensor]":
        return self._slots.write(self._index, keys, values)

    def get_seq_length(self) -> int:
        # positions and mask are always given: nothing may be derived from a common length
        return 0

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return query_length, 0

    def get_max_length(self) -> int:
        return -1
