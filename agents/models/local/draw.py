"""The next token from its logits, and how probable the model found it.

Temperature 0 takes the largest logit. Else one uniform number of the request's own generator is
looked up in the cumulative distribution: no other request can change what is drawn.
"""

from typing import TYPE_CHECKING

from evener.protocols.error import ConfigError
from evener.protocols.model import Sampling

if TYPE_CHECKING:
    import torch


def check_sampling(sampling: Sampling) -> None:
    """Raise ConfigError unless the values can be drawn with."""
    if sampling.temperature < 0:
        raise ConfigError(f"temperature is {sampling.temperature}", remedy="give 0 or more")
    if not 0 < sampling.top_p <= 1:
        raise ConfigError(f"top_p is {sampling.top_p}", remedy="give more than 0 and at most 1")
    if sampling.max_tokens < 1:
        raise ConfigError(f"max_tokens is {sampling.max_tokens}", remedy="give 1 or more")


def generator_of(sampling: Sampling) -> "torch.Generator | None":
    """The request's generator, seeded; None for greedy requests, which draw nothing."""
    import torch

    if sampling.temperature == 0:
        return None
    return torch.Generator().manual_seed(sampling.seed % (1 << 63))


def draw(logits: "torch.Tensor", sampling: Sampling, generator: "torch.Generator | None") -> int:
    """A token id from `logits` of shape [vocabulary], float32."""
    import torch

    if generator is None:
        return int(logits.argmax())
    probabilities = torch.softmax(logits.double() / sampling.temperature, dim=-1)
    if sampling.top_p < 1:
        probabilities = _nucleus(probabilities, sampling.top_p)
    cumulative = probabilities.cumsum(dim=-1)
    uniform = torch.rand(1, generator=generator, dtype=torch.float64).to(cumulative.device)
    # the product may round up to the total: the last token with any probability is the bound
    last = int(probabilities.nonzero()[-1])
    place = torch.searchsorted(cumulative, uniform * cumulative[-1], right=True)
    return min(int(place), last)


def _nucleus(probabilities: "torch.Tensor", top_p: float) -> "torch.Tensor":
    """The smallest set of most probable tokens that reaches `top_p`; the others become 0.

    Source: Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration", section 3.1.
    """
    import torch

    size = probabilities.shape[-1]
    # a full sort of a vocabulary is slow, and the nucleus is nearly always small
    for count in (min(256, size), size):
        values, tokens = torch.topk(probabilities, count)
        cumulative = values.cumsum(dim=-1)
        if float(cumulative[-1]) >= top_p or count == size:
            keep = cumulative - values < top_p
            kept = torch.zeros_like(probabilities)
            return kept.scatter(-1, tokens[keep], values[keep])
    raise AssertionError("unreachable: the last count is the whole vocabulary")
