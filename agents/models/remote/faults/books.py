"""What the server itself counted, to hold the client's figures against."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Books:
    """`prompt_tokens` and `completion_tokens` are those of every answer that was written whole with
    its usage; `told` counts these answers. What was read or written for others was told to nobody:
    `untold` counts those requests. `most` is the most requests that were open at once."""

    requests: int = 0
    told: int = 0
    untold: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    most: int = 0
    open: int = 0
    faults: Counter[str] = field(default_factory=Counter[str])

    @property
    def tokens(self) -> tuple[int, int]:
        """(prompt, completion)."""
        return self.prompt_tokens, self.completion_tokens
