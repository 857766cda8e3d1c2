"""What a finished distillation was about, as its log tells it, and what its cells took."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evener.agents.record.run import RunFolder
from evener.agents.sealed import CellPlan
from evener.config import DistillConfig, RunConfig, of_run
from evener.lesson import wanted
from evener.matrix.history import calls_by_cell
from evener.protocols.error import RunError
from evener.protocols.wire import StartDistillation

DEPLOYED = "trained+target"
"""The cell that a distillation's gain is claimed for."""


@dataclass(frozen=True, kw_only=True)
class Distilled:
    """`start` names the base, the harnesses and the reviewer; `calls` are model calls a task of
    each cell on `test`; `stop_reason` says why there is no trained student, where there is none."""

    config: RunConfig
    start: StartDistillation
    calls: Mapping[str, float]
    stop_reason: str

    @classmethod
    def read(cls, run: Path) -> "Distilled":
        """Raises RunError for a run that is not over."""
        with RunFolder.read(run) as folder:
            if "bench" in folder.manifest.digests:
                raise RunError(
                    "this is a folder of evener bench sources, which trains students of its own: "
                    "nothing can be put beside them",
                    where=str(run),
                    remedy="give the folder of an evener distill",
                )
            record = folder.record
            ends = list(record.bodies("ended"))
            # what is measured last is written after the entry `ended`
            if not ends or not any(one.state == "finished" for one in folder.sessions()):
                raise RunError(
                    "the distillation is not over, so there is nothing to put arms beside",
                    where=str(run),
                    remedy="go on with it first",
                )
            starts = [b for b in record.bodies("message") if b["type"] == "StartDistillation"]
            if not starts:
                raise RunError("damaged: the log does not say how it began", where=str(run))
            return cls(
                config=of_run(folder),
                start=StartDistillation.model_validate(starts[-1]["body"]),
                calls=calls_by_cell(record),
                stop_reason=str(ends[-1]["stop_reason"]),
            )

    @property
    def settings(self) -> DistillConfig:
        """Its table `[distill]`."""
        return wanted(self.config)

    @property
    def test_tasks(self) -> int:
        """Sealed tasks of `test`."""
        return self.config.plan.evaluation.test_tasks

    @property
    def ood_tasks(self) -> int:
        """Sealed tasks of `ood`."""
        return self.config.plan.evaluation.ood_tasks

    def base(self, harness: str, *, name: str = "") -> CellPlan:
        """The untrained student's cell under `target` or `optimized`, or another `name` of it."""
        digests = {"target": self.start.target, "optimized": self.start.optimized}
        return CellPlan(
            name=name or f"base+{harness}",
            model=self.start.model,
            harness=digests[harness],
            label=harness,
        )
