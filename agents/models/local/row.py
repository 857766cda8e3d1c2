"""One request while it is generated: its tokens so far, and how it ends."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evener.agents.models.local.draw import generator_of
from evener.agents.models.local.guess import Guesser
from evener.protocols.model import Sampling, StopReason

if TYPE_CHECKING:
    import torch


@dataclass(eq=False)
class Row:
    """One request in the batch. `length` counts the tokens whose keys and values are stored."""

    ids: list[int]
    sampling: Sampling
    limit: int
    out: list[int] = field(default_factory=list[int])
    logprob: float = 0.0
    seconds: float = 0.0
    length: int = 0
    text: str = ""
    stop_reason: StopReason | None = None
    generator: "torch.Generator | None" = None
    guesser: Guesser | None = None

    def __post_init__(self) -> None:
        self.generator = generator_of(self.sampling)

    def add(self, token: int, logprob: float) -> None:
        """One token more, with the log of its probability."""
        self.out.append(token)
        self.logprob += logprob
        if self.guesser is not None:
            self.guesser.add(token)

    def guesses(self, most: int) -> list[int]:
        """Tokens that may come next, at most as many as the row has room for after the next one."""
        if self.guesser is None:
            self.guesser = Guesser(self.ids + self.out)
        return self.guesser.guess(min(most, self.limit - len(self.out) - 1))

    @property
    def columns(self) -> int:
        """Tokens it may come to."""
        return len(self.ids) + self.limit
