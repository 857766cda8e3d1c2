"""What a run has used so far, against the limits its plan sets."""

import time
from collections.abc import Callable

from evener.agents.plan import Budget
from evener.protocols.error import BudgetError


class Meter:
    """Counts fresh and reused episodes alike: a resumed run stops where the first would have.

    `cpu_seconds` gives those of the process tree so far, earlier sessions of the run included.
    """

    def __init__(
        self, budget: Budget, *, cpu_seconds: Callable[[], float] = time.process_time
    ) -> None:
        self._budget = budget
        self.cpu_seconds = cpu_seconds
        self.rollouts = 0
        self.calls = 0
        self.completion_tokens = 0

    def add(self, *, rollouts: int = 1, calls: int = 0, completion_tokens: int = 0) -> None:
        """Count episodes and what they cost."""
        self.rollouts += rollouts
        self.calls += calls
        self.completion_tokens += completion_tokens

    def check(self) -> None:
        """Raise BudgetError if a limit is reached."""
        for unit, used, limit in (
            ("rollouts", self.rollouts, self._budget.rollouts),
            ("model calls", self.calls, self._budget.calls),
            ("completion tokens", self.completion_tokens, self._budget.completion_tokens),
            ("CPU-seconds", self.cpu_seconds(), self._budget.cpu_seconds),
        ):
            if limit is not None and used >= limit:
                raise BudgetError(unit, used=used, limit=limit)
