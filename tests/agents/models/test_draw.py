from collections import Counter

import pytest
import torch

from evener.agents.models.local.draw import check_sampling, draw, generator_of
from evener.protocols.error import ConfigError
from evener.protocols.model import Sampling

LOGITS = torch.tensor([2.0, 1.0, 0.0, -1.0, float("-inf")])


def counts(sampling: Sampling, *, draws: int = 2500) -> Counter[int]:
    generator = generator_of(sampling)
    return Counter(draw(LOGITS, sampling, generator) for _ in range(draws))


def test_temperature_zero_takes_the_largest_logit_and_draws_nothing() -> None:
    assert generator_of(Sampling(temperature=0, seed=3)) is None
    assert draw(LOGITS, Sampling(), None) == 0


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_draws_follow_the_softmax_at_the_temperature(temperature: float) -> None:
    found = counts(Sampling(temperature=temperature, seed=1))
    expected = torch.softmax(LOGITS / temperature, dim=-1)
    for token in range(5):
        assert found[token] / 2500 == pytest.approx(float(expected[token]), abs=0.04)


def test_top_p_keeps_the_smallest_set_that_reaches_it() -> None:
    # probabilities are 0.64, 0.24, 0.09, 0.03
    assert set(counts(Sampling(temperature=1, top_p=0.6, seed=1))) == {0}
    assert set(counts(Sampling(temperature=1, top_p=0.7, seed=1))) == {0, 1}
    assert set(counts(Sampling(temperature=1, top_p=0.9, seed=1))) == {0, 1, 2}


def test_a_nucleus_wider_than_the_first_look_is_whole() -> None:
    flat = torch.zeros(300)
    generator = torch.Generator().manual_seed(0)
    sampling = Sampling(temperature=1, top_p=0.899)
    found = {draw(flat, sampling, generator) for _ in range(3000)}
    assert len(found) == 270


def test_equal_seeds_draw_equal_tokens_and_huge_seeds_are_taken() -> None:
    assert counts(Sampling(temperature=1, seed=5)) == counts(Sampling(temperature=1, seed=5))
    assert generator_of(Sampling(temperature=1, seed=2**70 + 1)) is not None


def test_a_rounding_of_the_logits_changes_no_draw() -> None:
    # most of the probability lies in tens of thousands of tokens of a few millionths each
    torch.manual_seed(0)
    logits = torch.randn(49152)
    rounded = logits + torch.randn(49152) * 1e-6
    sampled = [Sampling(temperature=1, seed=seed) for seed in range(100)]
    plain = [draw(logits, s, generator_of(s)) for s in sampled]
    assert [draw(rounded, s, generator_of(s)) for s in sampled] == plain
    assert len(set(plain)) > 90


@pytest.mark.parametrize(
    ("sampling", "said"),
    [
        (Sampling(temperature=-0.1), "temperature is -0.1"),
        (Sampling(top_p=0), "top_p is 0"),
        (Sampling(top_p=1.5), "top_p is 1.5"),
        (Sampling(max_tokens=0), "max_tokens is 0"),
    ],
)
def test_values_that_cannot_be_drawn_with_are_named(sampling: Sampling, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        check_sampling(sampling)
