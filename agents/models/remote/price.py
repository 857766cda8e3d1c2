"""What a call costs. Unknown is None, never 0."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Price:
    """USD for a million tokens read and written, as the user says. Both, or the price is unknown;
    a 0 that the user says is one."""

    per_million_in: float | None = None
    per_million_out: float | None = None

    @property
    def known(self) -> bool:
        """Whether the user says a price."""
        return self.per_million_in is not None and self.per_million_out is not None

    def of(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """USD of a call."""
        if self.per_million_in is None or self.per_million_out is None:
            return None
        spent = prompt_tokens * self.per_million_in + completion_tokens * self.per_million_out
        return spent / 1e6
