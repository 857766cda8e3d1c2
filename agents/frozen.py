"""The `FineTuner` of a student whose weights cannot be changed."""

from collections.abc import Sequence
from pathlib import Path

from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.trajectory import Trajectory
from evener.protocols.wire import ModelTrained


class FrozenTuner:
    """Trains nothing and says so."""

    async def train(
        self,
        trajectories: Sequence[Trajectory],
        *,
        name: str,
        serving: Harness,
        base: ModelRef,
        folder: Path,
        seed: int,
    ) -> ModelTrained:
        """No model, and why."""
        return ModelTrained(model=None, rows=0, reason=f"the weights of {base} are frozen")
