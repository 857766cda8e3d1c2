"""Simulated tasks, and what the two arms do on them: the regimes that a gate may meet.

A task has a pass probability p of its own, drawn from a Beta distribution, one for each side of a
trial. The change moves it by a shift: `gain` on held_in, −`loss` on held_out. A regime says how the
outcomes of both arms come about; in all of them the expected difference is the shift, less what is
cut off at 0 and 1.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field

from evener.protocols.digest import Wire

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Arms: TypeAlias = "tuple[NDArray[np.bool_], NDArray[np.bool_]]"
Beta: TypeAlias = tuple[
    Annotated[float, Field(gt=0, allow_inf_nan=False)],
    Annotated[float, Field(gt=0, allow_inf_nan=False)],
]


class Tasks(Wire, ABC):
    """What every regime has. `held_in`, `held_out`: Beta parameters of p. `saved`: by which share
    the change makes an episode cheaper (its tokens are gamma with a coefficient of variation of
    0.5, independent in both arms). `shown`: the share of held_in tasks that show the failure and
    so are picked (1: no screening). `tasks_in`, `tasks_out`: how many tasks there are, None for
    endless ones."""

    held_in: Beta = (2.0, 4.0)
    held_out: Beta = (8.0, 2.0)
    saved: float = Field(default=0.0, lt=1)
    shown: float = Field(default=1.0, gt=0, le=1)
    tasks_in: int | None = Field(default=None, ge=1)
    tasks_out: int | None = Field(default=None, ge=1)

    @property
    def passes(self) -> int:
        """How often a side may go through its tasks."""
        return 1

    @property
    def pools(self) -> tuple[int | None, int | None]:
        """The tasks of each side that a trial can use; on held_in those that show the failure."""
        shown = None if self.tasks_in is None else int(self.tasks_in * self.shown + 1e-9)
        return shown, self.tasks_out

    @abstractmethod
    def outcomes(
        self, draw: "np.random.Generator", beta: Beta, shift: float, shape: tuple[int, int, int]
    ) -> Arms:
        """Whether each episode before and after the change is solved; `shape` is (replicates,
        passes, tasks)."""


class Independent(Tasks):
    """Sampling at a temperature: both arms are drawn independently, after the change with
    p + shift, cut to 0…1."""

    name: Literal["independent"] = "independent"

    def outcomes(
        self, draw: "np.random.Generator", beta: Beta, shift: float, shape: tuple[int, int, int]
    ) -> Arms:
        """Two independent draws a pair."""
        before = draw.beta(*beta, size=(shape[0], 1, shape[2]))
        after = _moved(before, shift)
        solved = draw.random(shape) < after
        return draw.random(shape) < before, solved


class Correlated(Tasks):
    """Arms that share randomness, as equal seeds give: an episode is solved where a uniform number
    is below its probability, and with probability `correlation` both arms have the same number.
    Without a shift that is the correlation of a task's two outcomes, so pairs agree more often."""

    name: Literal["correlated"] = "correlated"
    correlation: float = Field(default=0.5, ge=0, le=1)

    def outcomes(
        self, draw: "np.random.Generator", beta: Beta, shift: float, shape: tuple[int, int, int]
    ) -> Arms:
        """Two draws a pair, some of them one and the same."""
        import numpy as np

        before = draw.beta(*beta, size=(shape[0], 1, shape[2]))
        first, second = draw.random(shape), draw.random(shape)
        second = np.where(draw.random(shape) < self.correlation, first, second)
        return first < before, second < _moved(before, shift)


class Deterministic(Tasks):
    """Temperature 0: a task is solved or not, once and for all, with probability p before the
    change. The change draws the outcome of a share `redrawn` of the tasks anew from their p, with
    as many won as lost on average; then it flips failed tasks to solved (a loss: solved to failed)
    so that the mean moves by the shift, as far as there are tasks to flip. `redrawn` 0 without a
    shift is a change that touches nothing. A task cannot be repeated."""

    name: Literal["deterministic"] = "deterministic"
    redrawn: float = Field(default=0.3, ge=0, le=1)

    def outcomes(
        self, draw: "np.random.Generator", beta: Beta, shift: float, shape: tuple[int, int, int]
    ) -> Arms:
        """One outcome a task and arm, the same on every pass."""
        import numpy as np

        once = (shape[0], 1, shape[2])
        p = draw.beta(*beta, size=once)
        before = draw.random(once) < p
        anew = draw.random(once) < self.redrawn
        after = np.where(anew, draw.random(once) < p, before)
        mean = beta[0] / (beta[0] + beta[1])
        flipped = draw.random(once) < abs(shift) / (1 - mean if shift > 0 else mean)
        after = after | flipped if shift > 0 else after & ~flipped
        return np.broadcast_to(before, shape), np.broadcast_to(after, shape)


class Finite(Tasks):
    """A finite pool (`tasks_in`, `tasks_out`) that is gone through again, up to `repeats` times,
    with fresh episodes: drawn independently, but the change may suit one task and not another. For
    a share `redrawn` of the tasks p is drawn anew after the change, from the same distribution;
    then it moves by the shift. So repeats of a task go together, and only more tasks would tell
    more of other tasks. A new pool is drawn for every simulated trial."""

    name: Literal["finite"] = "finite"
    repeats: int = Field(default=4, ge=0)
    redrawn: float = Field(default=0.3, ge=0, le=1)

    @property
    def passes(self) -> int:
        """The first time and the repeats."""
        return 1 + self.repeats

    def outcomes(
        self, draw: "np.random.Generator", beta: Beta, shift: float, shape: tuple[int, int, int]
    ) -> Arms:
        """Two independent draws a pair; a task keeps both its probabilities over the passes."""
        import numpy as np

        once = (shape[0], 1, shape[2])
        before = draw.beta(*beta, size=once)
        anew = draw.random(once) < self.redrawn
        after = _moved(np.where(anew, draw.beta(*beta, size=once), before), shift)
        solved = draw.random(shape) < after
        return draw.random(shape) < before, solved


Regime: TypeAlias = Annotated[
    Independent | Deterministic | Correlated | Finite, Field(discriminator="name")
]
REGIMES: Mapping[str, type[Independent | Deterministic | Correlated | Finite]] = {
    "independent": Independent,
    "deterministic": Deterministic,
    "correlated": Correlated,
    "finite": Finite,
}


def _moved(p: "NDArray[np.float64]", shift: float) -> "NDArray[np.float64]":
    import numpy as np

    return np.clip(p + shift, 0.0, 1.0)
