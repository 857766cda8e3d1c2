"""Guesses come from the text itself, and never change what a row says."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evener.agents.models.local.batch import Batch
from evener.agents.models.local.guess import GRAM, Guesser
from evener.agents.models.local.prefix import PrefixCache
from evener.agents.models.local.render import Renderer
from evener.agents.models.local.row import Row
from evener.agents.models.local.weights import Weights, load_tokenizer
from evener.protocols.model import Sampling


def test_a_guess_is_what_followed_the_same_tokens_the_last_time() -> None:
    guesser = Guesser([1, 2, 3, 4, 5, 1, 2, 3, 9, 8, 7, 1, 2, 3])
    assert guesser.guess(2) == [9, 8]
    assert guesser.guess(0) == []
    guesser.add(4)
    assert guesser.guess(9) == [5, 1, 2, 3, 9, 8, 7, 1, 2][:9]


def test_what_was_never_followed_gives_no_guess() -> None:
    assert Guesser([1, 2, 3]).guess(4) == []
    assert Guesser([1, 2]).guess(4) == []
    assert Guesser([1, 2, 3, 1, 2, 4]).guess(4) == []


@given(st.lists(st.integers(0, 3), max_size=60), st.integers(0, 6))
def test_a_guess_stands_in_the_text_behind_the_same_tokens(tokens: list[int], most: int) -> None:
    grown = Guesser([])
    for token in tokens:
        grown.add(token)
    guess = grown.guess(most)
    assert guess == Guesser(tokens).guess(most)
    assert len(guess) <= most
    if guess:
        found = [*tokens[-GRAM:], *guess]
        runs = [tokens[at : at + len(found)] for at in range(len(tokens))]
        assert found in runs


@pytest.fixture(scope="module")
def weights(tiny: Path) -> Weights:
    return Weights(tiny, load_tokenizer(tiny))


class Counting(Batch):
    """Counts its steps."""

    steps = 0

    def step(self) -> list[Row]:
        self.steps += 1
        return super().step()


def generated(
    weights: Weights, tiny: Path, prompts: list[list[int]], *, lookahead: int, **sampling: Any
) -> tuple[list[tuple[list[int], int, str]], int]:
    batch = Counting(
        weights,
        Renderer(load_tokenizer(tiny)),
        max_rows=64,
        kv_bytes=1 << 30,
        prefix=PrefixCache(4096),
        lookahead=lookahead,
    )
    rows = [
        Row(ids=ids, sampling=Sampling(max_tokens=40, seed=at, **sampling), limit=40)
        for at, ids in enumerate(prompts)
    ]
    with torch.inference_mode():
        batch.join(rows, owner="m")
        while batch.rows:
            batch.step()
    return [(row.out, row.length, str(row.stop_reason)) for row in rows], batch.steps


@pytest.mark.parametrize("sampling", [{}, {"temperature": 0.7}, {"temperature": 0.5, "top_p": 0.9}])
@pytest.mark.parametrize("common", [0, 120])
def test_guesses_change_nothing_but_the_number_of_steps(
    weights: Weights, tiny: Path, sampling: dict[str, float], common: int
) -> None:
    draw = random.Random(7)
    start = [draw.randrange(3, 40) for _ in range(common)]
    # few different tokens: the text repeats itself, and a small random model does so too
    prompts = [start + [draw.randrange(3, 9) for _ in range(20 + at)] for at in range(6)]
    plain, steps = generated(weights, tiny, prompts, lookahead=0, **sampling)
    ahead, fewer = generated(weights, tiny, prompts, lookahead=4, **sampling)
    assert ahead == plain
    assert all(length < len(ids) + 40 for (_, length, _), ids in zip(ahead, prompts, strict=True))
    assert fewer <= steps


class Ruled(Weights):
    """Says what a rule says, by the last token and its position, so that guesses come true for a
    while and then do not."""

    def forward(self, *args: Any, keep: int = 1, **options: Any) -> torch.Tensor:
        logits = super().forward(*args, keep=keep, **options)
        if not hasattr(self, "geometry"):
            return logits  # while it is loaded
        ids, positions = args[2][:, -keep:], args[3][:, -keep:]
        following = 3 + (ids + positions // 11) % 5
        return torch.zeros_like(logits).scatter(-1, following[..., None], 1.0)


@pytest.mark.parametrize("common", [0, 120])
def test_guesses_that_come_true_save_steps_and_those_that_do_not_are_dropped(
    tiny: Path, common: int
) -> None:
    ruled = Ruled(tiny, load_tokenizer(tiny))
    start = [3 + at % 5 for at in range(common)]
    prompts = [start + [3 + (at + number) % 5 for at in range(30 + number)] for number in range(6)]
    plain, steps = generated(ruled, tiny, prompts, lookahead=0)
    ahead, fewer = generated(ruled, tiny, prompts, lookahead=4)
    assert ahead == plain
    assert fewer < steps * 0.8


def test_a_large_batch_takes_no_guesses(tiny: Path) -> None:
    ruled = Ruled(tiny, load_tokenizer(tiny))
    prompts = [[3 + (at + row) % 5 for at in range(30 + row)] for row in range(17)]
    _, steps = generated(ruled, tiny, prompts[:16], lookahead=0)
    _, fewer = generated(ruled, tiny, prompts[:16], lookahead=2)
    assert fewer < steps
    _, steps = generated(ruled, tiny, prompts, lookahead=0)
    _, as_many = generated(ruled, tiny, prompts, lookahead=2)
    assert as_many == steps
