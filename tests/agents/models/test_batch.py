import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from evener.agents.models.local.attention import Run
from evener.agents.models.local.batch import Batch
from evener.agents.models.local.prefix import BLOCK, PrefixCache
from evener.agents.models.local.render import Renderer
from evener.agents.models.local.row import Row
from evener.agents.models.local.slot import Slots
from evener.agents.models.local.weights import Weights, load_tokenizer
from evener.protocols.model import Sampling, StopReason


class CountingWeights(Weights):
    """Weights that count the tokens they compute."""

    def __init__(self, folder: Path, tokenizer: Any) -> None:
        self.computed = 0
        self.runs: list[Sequence[Run]] = []
        super().__init__(folder, tokenizer)

    def forward(
        self,
        slots: Slots,
        first: int,
        ids: torch.Tensor,
        positions: torch.Tensor,
        *,
        pad: torch.Tensor | None = None,
        runs: Sequence[Run] = (),
        keep: int = 1,
    ) -> torch.Tensor:
        self.computed += ids.numel() if pad is None else int((~pad).sum())
        self.runs.append(runs)
        return super().forward(slots, first, ids, positions, pad=pad, runs=runs, keep=keep)


@pytest.fixture(scope="module")
def weights(tiny: Path) -> CountingWeights:
    return CountingWeights(tiny, load_tokenizer(tiny))


@pytest.fixture(scope="module")
def renderer(tiny: Path) -> Renderer:
    return Renderer(load_tokenizer(tiny))


def new_batch(weights: Weights, renderer: Renderer, *, tokens: int = 4096, rows: int = 64) -> Batch:
    return Batch(weights, renderer, max_rows=rows, kv_bytes=1 << 30, prefix=PrefixCache(tokens))


def prompt(seed: int, length: int) -> list[int]:
    return [random.Random(seed).randrange(3, 259) for _ in range(length)]


def row(ids: list[int], *, limit: int = 12, **sampling: Any) -> Row:
    return Row(ids=ids, sampling=Sampling(**sampling), limit=limit)


def drain(batch: Batch, finished: list[Row]) -> None:
    while batch.rows:
        finished += batch.step()


def generate(batch: Batch, rows: Sequence[Row]) -> list[list[int]]:
    with torch.inference_mode():
        finished = batch.join(rows, owner="base")
        drain(batch, finished)
    assert set(map(id, finished)) == set(map(id, rows))
    return [row.out for row in rows]


def mixed_rows() -> list[Row]:
    """Greedy and sampled requests of many lengths; some share a beginning."""
    shared = prompt(99, 70)
    rows = [row(prompt(n, 3 + 7 * n)) for n in range(6)]
    rows += [row(shared + prompt(n, 2 + 5 * n)) for n in range(6)]
    rows += [
        row(shared + prompt(n, 9), temperature=0.9, top_p=0.8, seed=n, limit=6 + n)
        for n in range(6)
    ]
    return rows


def test_greedy_tokens_are_those_of_transformers_own_generate(
    weights: CountingWeights, renderer: Renderer
) -> None:
    ids = prompt(1, 40)
    ours = generate(new_batch(weights, renderer), [row(ids, limit=20)])[0]
    theirs = weights.model.generate(
        torch.tensor([ids]), max_new_tokens=20, do_sample=False, use_cache=True
    )
    assert ours == theirs[0, len(ids) :].tolist()


def test_a_reply_does_not_depend_on_what_else_is_in_the_batch(
    weights: CountingWeights, renderer: Renderer
) -> None:
    together = generate(new_batch(weights, renderer), mixed_rows())
    alone = [generate(new_batch(weights, renderer), [one])[0] for one in mixed_rows()]
    assert together == alone
    assert len({tuple(out) for out in together}) > 12


def test_a_reply_is_the_same_with_and_without_the_prefix_cache(
    weights: CountingWeights, renderer: Renderer
) -> None:
    without = generate(new_batch(weights, renderer, tokens=0), mixed_rows())
    batch = new_batch(weights, renderer)
    assert generate(batch, mixed_rows()) == without
    # the second time every prompt is recalled, its end included
    assert generate(batch, mixed_rows()) == without


def test_a_common_beginning_is_computed_once(weights: CountingWeights, renderer: Renderer) -> None:
    shared = prompt(5, 10 * BLOCK)
    rows = [row(shared + prompt(n, 10), limit=1) for n in range(8)]
    before = weights.computed
    generate(new_batch(weights, renderer), rows)
    assert weights.computed - before == 10 * BLOCK + 8 * 10


def test_a_second_turn_computes_only_what_is_new(
    weights: CountingWeights, renderer: Renderer
) -> None:
    batch = new_batch(weights, renderer)
    first = row(prompt(6, 5 * BLOCK), limit=BLOCK + 1)
    generate(batch, [first])
    before = weights.computed
    generate(batch, [row(first.ids + first.out + prompt(7, 3), limit=1)])
    # all stored blocks are whole; the last sampled token was never an input
    assert weights.computed - before == 1 + 3


def test_rows_that_begin_alike_read_their_beginning_once_and_answer_the_same(
    weights: CountingWeights, renderer: Renderer
) -> None:
    def rows() -> list[Row]:
        some = [row(prompt(50, 100) + prompt(n, 4 + n), limit=3 + n) for n in range(6)]
        others = [row(prompt(51, 80) + prompt(n, 20 - n), limit=9 - n) for n in range(6)]
        return [pair for both in zip(some, others, strict=True) for pair in both]

    weights.runs.clear()
    together = generate(new_batch(weights, renderer), rows())
    shared = {run.columns for runs in weights.runs for run in runs}
    assert {100, 80} <= shared
    assert max(len(runs) for runs in weights.runs) <= 3
    assert together == [generate(new_batch(weights, renderer), [one])[0] for one in rows()]


def test_another_owner_shares_nothing(weights: CountingWeights, renderer: Renderer) -> None:
    batch = new_batch(weights, renderer)
    ids = prompt(8, 4 * BLOCK)
    generate(batch, [row(ids, limit=1)])
    before = weights.computed
    with torch.inference_mode():
        batch.join([row(ids, limit=1)], owner="adapter")
    assert weights.computed - before == len(ids)


def test_rows_that_join_midway_get_the_replies_they_get_alone(
    weights: CountingWeights, renderer: Renderer
) -> None:
    early, late = mixed_rows()[:9], mixed_rows()[9:]
    batch = new_batch(weights, renderer)
    with torch.inference_mode():
        finished = batch.join(early, owner="base")
        for _ in range(4):
            finished += batch.step()
        finished += batch.join(late, owner="base")
        drain(batch, finished)
    alone = [generate(new_batch(weights, renderer), [one])[0] for one in mixed_rows()]
    assert [one.out for one in early + late] == alone


def test_a_dropped_row_changes_no_other(weights: CountingWeights, renderer: Renderer) -> None:
    rows = mixed_rows()
    batch = new_batch(weights, renderer)
    with torch.inference_mode():
        finished = batch.join(rows, owner="base")
        finished += batch.step()
        batch.drop(rows[0])
        batch.drop(rows[9])
        drain(batch, finished)
    alone = [generate(new_batch(weights, renderer), [one])[0] for one in mixed_rows()]
    kept = [n for n in range(len(rows)) if n not in (0, 9)]
    assert [rows[n].out for n in kept] == [alone[n] for n in kept]


def test_a_long_prompt_read_in_pieces_gives_the_same_tokens(
    weights: CountingWeights, renderer: Renderer
) -> None:
    ids = prompt(2, 1300)
    ours = generate(new_batch(weights, renderer, tokens=0), [row(ids), row(prompt(3, 5))])[0]
    theirs = weights.model.generate(torch.tensor([ids]), max_new_tokens=12, do_sample=False)
    assert ours == theirs[0, len(ids) :].tolist()


def test_the_mean_logprob_is_that_of_the_chosen_tokens(
    weights: CountingWeights, renderer: Renderer
) -> None:
    one = row(prompt(4, 30), temperature=1.0, seed=3)
    generate(new_batch(weights, renderer), [one, *mixed_rows()])
    with torch.inference_mode():
        logits = weights.model(torch.tensor([one.ids + one.out])).logits[0].log_softmax(-1)
    places = range(len(one.ids) - 1, len(one.ids) + len(one.out) - 1)
    expected = sum(float(logits[at, token]) for at, token in zip(places, one.out, strict=True))
    assert one.logprob == pytest.approx(expected, abs=1e-3)


def test_a_stop_string_cuts_the_text_before_it(
    weights: CountingWeights, renderer: Renderer
) -> None:
    ids = prompt(10, 20)
    whole = row(ids, limit=12)
    generate(new_batch(weights, renderer), [whole])
    mark = renderer.decode(whole.out)[4:6]
    stopped = row(ids, limit=12, stop=("not there", mark))
    generate(new_batch(weights, renderer), [stopped])
    assert whole.stop_reason is StopReason.LENGTH
    assert stopped.stop_reason is StopReason.STOP
    assert stopped.text == whole.text[: whole.text.index(mark)]
    assert stopped.out == whole.out[: len(stopped.out)]


def test_the_end_of_turn_is_kept_in_the_ids_and_left_out_of_the_text(
    weights: CountingWeights, renderer: Renderer
) -> None:
    ids = prompt(11, 20)
    whole = row(ids, limit=12)
    generate(new_batch(weights, renderer), [whole])
    ends, weights.ends = weights.ends, frozenset({whole.out[5]})
    try:
        ended = row(ids, limit=12)
        generate(new_batch(weights, renderer), [ended])
    finally:
        weights.ends = ends
    at = whole.out.index(whole.out[5])
    assert ended.stop_reason is StopReason.END
    assert ended.out == whole.out[: at + 1]
    assert ended.text == renderer.decode(whole.out[:at])


def test_rows_join_only_while_their_keys_and_values_fit(
    weights: CountingWeights, renderer: Renderer
) -> None:
    size = weights.geometry.bytes_per_token
    batch = Batch(weights, renderer, max_rows=3, kv_bytes=size * 100, prefix=PrefixCache(0))
    assert batch.fits([row(prompt(1, 500))])
    assert batch.fits([row(prompt(n, 20)) for n in range(3)])
    assert not batch.fits([row(prompt(n, 20), limit=20) for n in range(3)])
    assert not batch.fits([row(prompt(n, 2)) for n in range(4)])


def test_the_prefix_cache_never_holds_more_than_its_bound(
    weights: CountingWeights, renderer: Renderer
) -> None:
    cache = PrefixCache(6 * BLOCK)
    batch = Batch(weights, renderer, max_rows=8, kv_bytes=1 << 30, prefix=cache)
    for n in range(5):
        generate(batch, [row(prompt(n, 4 * BLOCK + 2), limit=2)])
        assert 0 < cache.tokens <= 6 * BLOCK
    before = weights.computed
    generate(batch, [row(prompt(4, 4 * BLOCK + 2), limit=1)])
    assert weights.computed - before == 2
