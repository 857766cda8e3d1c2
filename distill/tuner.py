"""The `FineTuner` of a local student: select → rows → train → probe → seal.

Equal data under equal settings are never trained on twice: a sealed adapter with the same key is
the answer. What fails on the way leaves no adapter.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

from evener.agents.models.local.adapter import adapter_ref
from evener.agents.models.local.engine import default_threads
from evener.agents.models.local.folder import check_folder
from evener.agents.models.local.render import Renderer
from evener.agents.models.local.weights import load_tokenizer
from evener.agents.record.beside import entries
from evener.distill.adapter import (
    ROWS,
    TEMPLATE,
    AdapterManifest,
    read_adapter,
    scratch,
    seal,
    set_aside,
)
from evener.distill.rows.build import RowSet, build_rows
from evener.distill.rows.marker import Markers
from evener.distill.rows.template import end_of_turn
from evener.distill.select import EpisodeRefusal, select
from evener.distill.settings import SftSettings
from evener.distill.training.process import run_worker
from evener.distill.training.spec import Finished, Line, TrainSpec
from evener.protocols.digest import JsonObject, canonical, digest
from evener.protocols.error import ModelError
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.trajectory import Trajectory
from evener.protocols.wire import ModelTrained

# what a run is expected to leave out; everything else that is refused hints at a fault
_EXPECTED = {*get_args(EpisodeRefusal), "duplicate"}
_MANY = 0.2

Progress = Callable[[JsonObject], None]
"""Hears of the rows, of every step, of the probe, and of adapters reused or set aside."""


class TrlFineTuner:
    """Trains LoRA adapters on the model in `model`, each in a process of its own. No row in which
    one of `markers` stands is trained on; a function is asked for them each time rows are made, in
    whichever thread makes them."""

    def __init__(
        self,
        model: Path,
        settings: SftSettings | None = None,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
        markers: Markers | Callable[[], Markers] | None = None,
    ) -> None:
        check_folder(model)
        self._model = model.resolve()
        self._settings = settings or SftSettings()
        self._threads = threads if threads is not None else default_threads()
        self._progress = progress
        self._markers = markers
        self._renderer: Renderer | None = None

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
        """An adapter `name` of `base` in `folder`, or a result that says why there is none.

        Raises DataError where the template or the harness admits no rows, InfraError where the
        training process fails, RunError where the disk is full.
        """
        if base.adapter is not None:
            raise ModelError(
                f"{base} is an adapter already", remedy="train from the base it belongs to"
            )
        rows = await asyncio.to_thread(self.rows, trajectories, serving)
        self._say(
            "rows",
            {"rows": len(rows.rows), "refused": {**rows.refused}, "warning": warning(rows)},
        )
        if len(rows.rows) < self._settings.min_rows:
            return nothing(rows.refused, rows=len(rows.rows), least=self._settings.min_rows)
        key = self.key(rows, serving, base, seed)
        rejected = folder.with_name(f"{folder.name}.rejected")
        for place in (folder, rejected):
            manifest = await asyncio.to_thread(read_adapter, place)
            if manifest is not None and manifest.key == key:
                self._say("reused", {"folder": str(place)})
                return manifest.result(place)
            moved = set_aside(place)
            if moved is not None:
                why = "damaged or incomplete" if manifest is None else "trained from other data"
                self._say("set_aside", {"folder": str(moved), "reason": why})
        with scratch(folder) as part:
            out = part / "adapter"
            out.mkdir()
            spec = self.spec(rows, base, seed, out)
            finished = await run_worker(spec, part, heard=self._hear)
            manifest = await asyncio.to_thread(
                self._describe, out, key, name, serving, base, seed, rows, finished
            )
            target = folder if manifest.model is not None else rejected
            await asyncio.to_thread(seal, out, target, manifest)
        return manifest.result(target)

    def rows(self, trajectories: Sequence[Trajectory], serving: Harness) -> RowSet:
        """The rows that would be trained on, with everything refused counted."""
        chosen = select(trajectories, per_task=self._settings.per_task, keep=self._settings.filter)
        markers = self._markers() if callable(self._markers) else self._markers
        made = build_rows(
            chosen.episodes,
            serving,
            self.renderer,
            settings=self._settings,
            model=self._model.name,
            markers=markers,
        )
        refused = Counter(chosen.refused) + Counter(made.refused)
        return made.model_copy(update={"refused": dict(refused)})

    @property
    def settings(self) -> SftSettings:
        """What decides a training besides its data and seed."""
        return self._settings

    @property
    def renderer(self) -> Renderer:
        """How messages become tokens: as in the engine, with a tokenizer of its own."""
        if self._renderer is None:
            self._renderer = Renderer(load_tokenizer(self._model))
        return self._renderer

    def key(self, rows: RowSet, serving: Harness, base: ModelRef, seed: int) -> str:
        """Digest of all that decides the adapter: equal keys, equal training."""
        return digest(
            {
                "base": base.revision,
                "data": rows.data_digest(),
                "mask": rows.mask_digest(),
                "serving": serving.digest(),
                "settings": self._settings.document(),
                "seed": seed,
            }
        )

    def spec(self, rows: RowSet, base: ModelRef, seed: int, out: Path) -> TrainSpec:
        """What the training process is told, to train into the folder `out` or to probe what lies
        there."""
        eos: int | None = self.renderer.tokenizer.eos_token_id
        end = end_of_turn(self.renderer, model=self._model.name)
        return TrainSpec(
            model=str(self._model),
            base_name=base.base,
            rows=rows.rows,
            settings=self._settings,
            seed=seed,
            out=str(out),
            ends=tuple(dict.fromkeys(i for i in (end, eos) if i is not None)),
            threads=self._threads,
        )

    def write_rows(self, rows: RowSet, folder: Path) -> None:
        """Keep the rows beside the adapter that was trained on them."""
        lines = "".join(canonical(row.document()) + "\n" for row in rows.rows)
        (folder / ROWS).write_text(lines, "utf-8")

    def _describe(
        self,
        out: Path,
        key: str,
        name: str,
        serving: Harness,
        base: ModelRef,
        seed: int,
        rows: RowSet,
        finished: Finished,
    ) -> AdapterManifest:
        """Add template and rows to the adapter, and say what it is."""
        template: Any = self.renderer.tokenizer.chat_template
        if isinstance(template, str):
            (out / TEMPLATE).write_text(template, "utf-8")
        self.write_rows(rows, out)
        faults = finished.probe.faults
        return AdapterManifest(
            key=key,
            name=name,
            base=base,
            model=None if faults else adapter_ref(base, name, out),
            reason="failed its probe: " + "; ".join(faults) if faults else "",
            serving_harness=serving.digest(),
            data_digest=rows.data_digest(),
            mask_digest=rows.mask_digest(),
            settings=self._settings,
            seed=seed,
            rows=len(rows.rows),
            refused=rows.refused,
            untrained=rows.untrained,
            row_tokens=sum(len(row.ids) for row in rows.rows),
            trained_tokens=sum(row.trained for row in rows.rows),
            finished=finished,
            files=entries(out),
        )

    def _hear(self, line: Line) -> None:
        self._say(line.kind, line.document())

    def _say(self, kind: str, body: JsonObject) -> None:
        if self._progress is not None:
            self._progress({**body, "kind": kind})


def nothing(refused: dict[str, int], *, rows: int, least: int) -> ModelTrained:
    """The answer where there are too few rows, and why."""
    counts = ", ".join(f"{reason} {n}" for reason, n in sorted(refused.items()))
    return ModelTrained(
        model=None,
        rows=rows,
        refused=refused,
        reason=f"nothing_to_train: {rows} rows of at least {least} (finetune.min_rows); "
        f"refused: {counts or 'none'}",
    )


def warning(rows: RowSet) -> str:
    """A line on rows that could not be used although their episodes were chosen, where they are
    many; else nothing."""
    lost = {reason: n for reason, n in rows.refused.items() if reason not in _EXPECTED}
    whole = len(rows.rows) + sum(lost.values())
    if sum(lost.values()) <= _MANY * whole:
        return ""
    reasons = ", ".join(f"{reason} {n}" for reason, n in sorted(lost.items()))
    return f"{sum(lost.values())} of {whole} rows of chosen episodes cannot be used: {reasons}"
