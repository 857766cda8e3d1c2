"""An adapter that was trained elsewhere on rows of tokens becomes one of the run's own: taken over,
checked and probed in a process of its own, sealed like one that was trained here.
"""

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

from evener.agents.models.local.adapter import CONFIG, TENSORS, adapter_ref
from evener.agents.record.beside import entries
from evener.distill.adapter import TEMPLATE, AdapterManifest, scratch, seal
from evener.distill.outside.errand import LOG, Errand, Paid
from evener.distill.rows.build import RowSet
from evener.distill.rows.piece import exported, speller
from evener.distill.training.process import run_worker
from evener.distill.training.spec import Finished
from evener.distill.tuner import TrlFineTuner
from evener.protocols.error import ModelError
from evener.protocols.wire import ModelTrained


class TokenRows:
    """Rows of a student whose weights lie here; `local` draws them and knows the student."""

    hosted = False

    def __init__(self, rows: RowSet, local: TrlFineTuner) -> None:
        self._rows = rows
        self._local = local

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self._rows.rows)

    @property
    def refused(self) -> dict[str, int]:
        """Rows and episodes left out, by reason."""
        return self._rows.refused

    def lines(self) -> str:
        """Rows as `evener rows export` writes them."""
        spell = speller(self._local.renderer)
        return "".join(exported(row, spell) for row in self._rows.rows)

    async def keep(self, errand: Errand, paid: Paid) -> ModelTrained:
        """The adapter as one of the run's, or why it failed its probe. Raises ModelError for one
        that does not fit the student, InfraError where the probe's process fails."""
        assert paid.result.adapter is not None
        source = (errand.out / paid.result.adapter).absolute()
        with scratch(errand.folder) as part:
            built = part / "adapter"
            await asyncio.to_thread(_take, source, built)
            spec = self._local.spec(self._rows, errand.base, errand.seed, built)
            finished = await run_worker(
                spec.model_copy(update={"probe_only": True}), part, heard=lambda _: None
            )
            faults = finished.probe.faults
            if faults and not finished.probe.asked:
                raise ModelError(
                    "the adapter is refused: " + "; ".join(faults),
                    where=str(source),
                    remedy=f"train a LoRA of {errand.base_name}, and run the same command again",
                )
            manifest = await asyncio.to_thread(self._describe, errand, paid, finished, built)
            target = errand.folder if manifest.model is not None else errand.rejected
            await asyncio.to_thread(seal, built, target, manifest)
        return manifest.result(target)

    def _describe(
        self, errand: Errand, paid: Paid, finished: Finished, built: Path
    ) -> AdapterManifest:
        """Add rows, log and template to the adapter, and say what it is."""
        settings: dict[str, Any] = json.loads((built / CONFIG).read_text("utf-8"))
        # a name that is served, and no path of this machine
        settings["base_model_name_or_path"] = errand.base.base
        (built / CONFIG).write_text(json.dumps(settings, indent=2, sort_keys=True), "utf-8")
        template: Any = self._local.renderer.tokenizer.chat_template
        if isinstance(template, str):
            (built / TEMPLATE).write_text(template, "utf-8")
        self._local.write_rows(self._rows, built)
        shutil.copyfile(errand.log, built / LOG)
        rows, faults = self._rows, finished.probe.faults
        return AdapterManifest(
            key=errand.key,
            name=errand.name,
            base=errand.base,
            model=None if faults else adapter_ref(errand.base, errand.name, built),
            reason="failed its probe: " + "; ".join(faults) if faults else "",
            serving_harness=errand.serving.digest(),
            data_digest=rows.data_digest(),
            mask_digest=rows.mask_digest(),
            settings=self._local.settings,
            seed=errand.seed,
            rows=len(rows.rows),
            refused=rows.refused,
            untrained=rows.untrained,
            row_tokens=sum(len(row.ids) for row in rows.rows),
            trained_tokens=sum(row.trained for row in rows.rows),
            finished=finished.model_copy(update={"seconds": paid.seconds}),
            external=paid.account(errand),
            files=entries(built),
        )


def _take(source: Path, built: Path) -> None:
    """Copy what an adapter consists of and nothing else; what is missing is found by its check."""
    # these take a name that no file can have, where a path's own methods raise
    if not os.path.isdir(source):  # noqa: PTH112
        what = "is no folder" if os.path.exists(source) else "does not exist"  # noqa: PTH110
        raise ModelError(
            f"the adapter {what}",
            where=str(source),
            remedy="let the command name the folder in which the adapter lies",
        )
    built.mkdir()
    for name in (CONFIG, TENSORS):
        if (source / name).is_file():
            shutil.copyfile(source / name, built / name)
