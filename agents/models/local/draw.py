"""The next token from its logits, and how probable the model found it.

Temperature 0 takes the largest logit. Else every token's score gets its own noise from the
request's generator and the largest sum wins (Gumbel-max): the distribution is the softmax, no
other request changes what is drawn, and neither does a rounding of the logits, which would move a
lookup in the cumulative distribution wherever many improbable tokens lie side by side.
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
    scores = logits / sampling.temperature
    if sampling.top_p < 1:
        scores = _nucleus(scores, sampling.top_p)
    # log of exponential noise from uniform: drawing it as such takes five times as long on a CPU
    noise = torch.rand(scores.shape, dtype=torch.float32, generator=generator)
    return int((scores - noise.log_().neg_().log_().to(scores.device)).argmax())


def _nucleus(scores: "torch.Tensor", top_p: float) -> "torch.Tensor":
    """`scores`, −∞ outside the smallest set of most probable tokens that reaches `top_p`.

    Source: Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration", section 3.1.
    """
    import torch

    size = scores.shape[-1]
    total = scores.logsumexp(dim=-1)
    # a full sort of a vocabulary is slow, and the nucleus is nearly always small
    for count in (min(256, size), size):
        values, tokens = torch.topk(scores, count)
        probabilities = (values - total).exp()
        before = probabilities.cumsum(dim=-1) - probabilities
        if float(before[-1] + probabilities[-1]) >= top_p or count == size:
            keep = before < top_p
            return torch.full_like(scores, float("-inf")).scatter(-1, tokens[keep], values[keep])
    raise AssertionError("unreachable: the last count is the whole vocabulary")
