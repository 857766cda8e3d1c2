"""Rows that are generated together: they join, take one token a step each, and leave.

A row's tokens depend on its own prompt, sampling and generator. What else is in the batch, or in
the prefix cache, changes the arithmetic by float rounding only.
"""

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evener.agents.models.local.attention import Run
from evener.agents.models.local.draw import draw
from evener.agents.models.local.prefix import BLOCK, PrefixCache, block_keys
from evener.agents.models.local.render import Renderer
from evener.agents.models.local.row import Row
from evener.agents.models.local.run import runs_of
from evener.agents.models.local.slot import Slots
from evener.agents.models.local.weights import Weights
from evener.protocols.model import Sampling, StopReason

if TYPE_CHECKING:
    import torch

_GROUP_TOKENS = 2048
"""Most tokens, padding included, in one pass over several prompts."""
_FREE_TOKENS = 48
"""So many tokens in a pass cost little more than one: the pass waits for the weights."""
_PIECE_TOKENS = 512
"""A longer prompt is read alone, in pieces of this size."""


class Batch:
    """At most `max_rows` rows and about `kv_bytes` of keys and values; one row always fits.

    In a step up to `lookahead` guessed tokens of each row are checked beside the next one.
    """

    def __init__(
        self,
        weights: Weights,
        renderer: Renderer,
        *,
        max_rows: int,
        kv_bytes: int,
        prefix: PrefixCache,
        lookahead: int = 0,
    ) -> None:
        self._weights = weights
        self._renderer = renderer
        self._max_rows = max_rows
        self._kv_bytes = kv_bytes
        self._prefix = prefix
        self._lookahead = lookahead
        self._slots = Slots(weights.geometry, dtype=weights.dtype, device=weights.device)
        self._owner = ""
        self._runs: list[Run] = []
        self.rows: list[Row] = []

    def fits(self, rows: Sequence[Row]) -> bool:
        """Whether `rows` may join those that are there."""
        everyone = [*self.rows, *rows]
        columns = max(row.columns for row in everyone)
        size = len(everyone) * columns * self._weights.geometry.bytes_per_token
        return len(everyone) == 1 or (len(everyone) <= self._max_rows and size <= self._kv_bytes)

    def join(self, rows: Sequence[Row], *, owner: str) -> list[Row]:
        """Read the prompts and draw first tokens; `owner` names the weights in force.

        Returns the rows that are finished already. A common beginning is read once.
        """
        started = time.perf_counter()
        self._owner = owner
        # one more slot: a common beginning is read there before the rows that share it
        columns = max(row.columns for row in (*self.rows, *rows))
        self._slots.reserve(len(self.rows) + len(rows) + 1, columns)
        keys = {id(row): block_keys(owner, row.ids[:-1]) for row in rows}
        self._read_shared(rows, keys)
        for group in self._groups(rows, keys):
            self._read_group(group)
            for row in group:
                self._store(row)
        for row in rows:
            row.seconds += (time.perf_counter() - started) / len(rows)
        return self._leave_finished()

    def step(self) -> list[Row]:
        """One more token for every row, and more where guesses come true; returns the rows that are
        finished, which have left."""
        started = time.perf_counter()
        guesses = self._guesses()
        pieces = [[row.out[-1], *guess] for row, guess in zip(self.rows, guesses, strict=True)]
        logits = self._pass(0, self.rows, pieces, runs=self._runs, keep=max(map(len, pieces)))
        told = [len(row.out) for row in self.rows]
        self._choose(self.rows, logits, guesses)
        for row, before in zip(self.rows, told, strict=True):
            # what was stored is the token before, and the guesses that came true
            row.length += len(row.out) - before
        for row in self.rows:
            row.seconds += (time.perf_counter() - started) / len(self.rows)
        return self._leave_finished()

    def drop(self, row: Row) -> None:
        """A row whose reply nobody waits for leaves."""
        self._remove(row)
        self._runs = runs_of([row.ids for row in self.rows])

    def clear(self) -> None:
        """Drop every row and give back the memory, the prefix cache included."""
        self.rows.clear()
        self._runs = []
        self._slots.release()
        self._prefix.clear()

    def _read_shared(self, rows: Sequence[Row], keys: dict[int, list[bytes]]) -> None:
        """Read into the cache, once, every beginning that several new rows share."""
        if self._prefix.limit == 0:
            return
        uses = Counter(key for row in rows for key in keys[id(row)])
        for row in rows:
            chain = keys[id(row)]
            shared = sum(1 for key in chain if uses[key] > 1)
            shared = min(shared, self._prefix.limit // BLOCK)
            held = self._prefix.count(chain)
            if (shared - held) * BLOCK < 2 * BLOCK:
                continue
            reader = Row(ids=row.ids[: shared * BLOCK], sampling=Sampling(), limit=0)
            self._recall(reader, chain[:shared], slot=len(self.rows))
            self._read(len(self.rows), [reader])
            self._store(reader, slot=len(self.rows))

    def _groups(self, rows: Sequence[Row], keys: dict[int, list[bytes]]) -> list[list[Row]]:
        """Give rows their slots, recall what is cached, and group by what is left to read."""
        groups: list[list[Row]] = []
        shortest = longest = 0
        # in the order of their tokens those that begin alike are neighbours
        for row in sorted(rows, key=lambda row: row.ids):
            self._recall(row, keys[id(row)], slot=len(self.rows))
            self.rows.append(row)
            left = len(row.ids) - row.length
            shortest, longest = min(shortest, left), max(longest, left)
            size = longest * (len(groups[-1]) + 1) if groups else 0
            uneven = longest > 2 * shortest + BLOCK
            if not groups or uneven or size > _GROUP_TOKENS or longest > _PIECE_TOKENS:
                groups.append([])
                shortest = longest = left
            groups[-1].append(row)
        return groups

    def _recall(self, row: Row, keys: Sequence[bytes], *, slot: int) -> None:
        blocks = self._prefix.match(keys)
        for index, block in enumerate(blocks):
            self._slots.put(slot, index * BLOCK, block)
        row.length = len(blocks) * BLOCK

    def _read_group(self, group: list[Row]) -> None:
        logits = self._read(self.rows.index(group[0]), group)
        nothing: list[list[int]] = [[] for _ in group]
        self._choose(group, logits, nothing)

    def _read(self, first: int, group: Sequence[Row]) -> "torch.Tensor":
        """Read what is left of the prompts of rows in slots from `first` on; last logits."""
        while True:
            pieces = [row.ids[row.length : row.length + _PIECE_TOKENS] for row in group]
            logits = self._pass(first, group, pieces)
            for row, piece in zip(group, pieces, strict=True):
                row.length += len(piece)
            # only a row that is alone takes more than one piece
            if group[0].length == len(group[0].ids):
                return logits

    def _pass(
        self,
        first: int,
        rows: Sequence[Row],
        pieces: Sequence[list[int]],
        *,
        runs: Sequence[Run] = (),
        keep: int = 1,
    ) -> "torch.Tensor":
        """Logits after the next tokens of rows in slots from `first` on: `pieces`, which end
        together."""
        import torch

        device = self._weights.device
        width = max(map(len, pieces))
        gaps = [width - len(piece) for piece in pieces]
        ids = torch.tensor(
            [[0] * gap + piece for gap, piece in zip(gaps, pieces, strict=True)], device=device
        )
        columns = torch.arange(width, device=device)[None]
        gap = torch.tensor(gaps, device=device)[:, None]
        start = torch.tensor([row.length for row in rows], device=device)[:, None]
        pad = columns < gap
        positions = torch.where(pad, 0, columns - gap + start)
        return self._weights.forward(
            self._slots, first, ids, positions, pad=pad, runs=runs, keep=keep
        )

    def _guesses(self) -> list[list[int]]:
        """What may follow the next token of each row; nothing where too few rows have a guess, for
        every row pays for the longest one, and nothing in a batch that is large enough without."""
        if len(self.rows) * (1 + self._lookahead) > _FREE_TOKENS or self._lookahead == 0:
            return [[] for _ in self.rows]
        guesses = [row.guesses(self._lookahead) for row in self.rows]
        worth = sum(map(len, guesses)) >= len(self.rows) * self._lookahead / 2
        return guesses if worth else [[] for _ in self.rows]

    def _choose(
        self, rows: Sequence[Row], logits: "torch.Tensor", guesses: Sequence[list[int]]
    ) -> None:
        """Draw each row's next tokens, one more than of its guesses came true, and note how it
        ends, if it does. `logits` are [rows, tokens, vocabulary], a row's own at the end."""
        width = logits.shape[1]
        best, totals = logits.argmax(dim=-1), logits.logsumexp(dim=-1)
        for at, (row, guess) in enumerate(zip(rows, guesses, strict=True)):
            for place, guessed in enumerate([*guess, None], start=width - 1 - len(guess)):
                own = logits[at, place]
                sampled = row.generator is not None
                greedy = int(best[at, place])
                token = draw(own, row.sampling, row.generator) if sampled else greedy
                row.add(token, float(own[token] - totals[at, place]))
                self._judge(row, token)
                if token != guessed or row.stop_reason is not None:
                    break

    def _judge(self, row: Row, token: int) -> None:
        if token in self._weights.ends:
            row.text = self._renderer.decode(row.out[:-1])
            row.stop_reason = StopReason.END
        elif row.sampling.stop:
            text = self._renderer.decode(row.out)
            found = [at for stop in row.sampling.stop if (at := text.find(stop)) >= 0]
            if found:
                row.text, row.stop_reason = text[: min(found)], StopReason.STOP
        if row.stop_reason is None and len(row.out) >= row.limit:
            row.text, row.stop_reason = self._renderer.decode(row.out), StopReason.LENGTH

    def _leave_finished(self) -> list[Row]:
        finished = [row for row in self.rows if row.stop_reason is not None]
        for row in finished:
            self._store(row)
            self._remove(row)
        self._runs = runs_of([row.ids for row in self.rows])
        return finished

    def _remove(self, row: Row) -> None:
        """Fill the gap so that rows that begin alike stay neighbours: one move a run."""
        gap = self.rows.index(row)
        for end in [run.last for run in runs_of([r.ids for r in self.rows]) if run.last > gap]:
            last = end - 1
            if last != gap:
                self._slots.move(last, gap, self.rows[last].length)
                self.rows[gap] = self.rows[last]
            gap = last
        self.rows.pop()

    def _store(self, row: Row, *, slot: int | None = None) -> None:
        place = self.rows.index(row) if slot is None else slot
        keys = block_keys(self._owner, (row.ids + row.out)[: row.length])
        self._prefix.store(keys, lambda start, stop: self._slots.take(place, start, stop))
