"""The `FineTuner` that hands the rows to a program of the user's: rows → command → probe → seal.

The program is told where the rows are and answers with an adapter, or with the name of a model at
the student's endpoint. What comes back is checked and probed like what is trained here, and tried
at the same gate. An answer is kept until then: a run that is gone on with never pays for it again.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from evener.agents.record.atomic import write_atomically
from evener.distill.adapter import read_adapter, set_aside
from evener.distill.outside.adopt import TokenRows
from evener.distill.outside.command import run
from evener.distill.outside.elsewhere import RESULT, WHERE, check_command, filled, read_result
from evener.distill.outside.errand import FINISHED, Drawn, Errand, Paid, kept
from evener.distill.outside.hosted import ConversationRows, read_hosted_manifest
from evener.distill.outside.secret import Secrets
from evener.distill.rows.conversation import build_conversations
from evener.distill.rows.marker import Markers
from evener.distill.select import select
from evener.distill.settings import ExternalSettings, SftSettings
from evener.distill.tuner import TrlFineTuner, nothing
from evener.protocols.digest import digest
from evener.protocols.error import ConfigError, ModelError
from evener.protocols.harness import Harness
from evener.protocols.model import ModelRef
from evener.protocols.port import Hosting, Model
from evener.protocols.trajectory import Trajectory
from evener.protocols.wire import ModelTrained


def _silent(text: str) -> None:
    """Say nothing."""


class ExternalTuner:
    """Has the command of `external` train on the rows of accepted episodes.

    `local` draws the rows of a student whose weights lie here, as tokens, and its probe is run on
    the adapter. Without it `student` is behind an interface: rows are conversations, and the
    command names a model of that endpoint. `base` is what the command is told the base model is
    called, `say` hears a line for a person, `secrets` are what no file may hold. Raises ConfigError
    for what cannot train.
    """

    def __init__(
        self,
        external: ExternalSettings,
        settings: SftSettings,
        *,
        student: Model,
        base: str,
        local: TrlFineTuner | None = None,
        markers: Markers | Callable[[], Markers] | None = None,
        say: Callable[[str], None] | None = None,
        secrets: Secrets | None = None,
    ) -> None:
        self._external = external
        self._settings = settings
        self._student = student
        self._base = base
        self._local = local
        self._markers = markers
        self._say = say or _silent
        self._secrets = secrets or Secrets()
        check_command(external.command, self._secrets)
        if local is None and not isinstance(student, Hosting):
            raise ConfigError(
                f"{student.ref} serves neither adapters nor other models by their names",
                where="plan.training.method",
                remedy='set it to "none"',
            )
        if local is None and settings.mask != "spans":
            raise ConfigError(
                f"{settings.mask!r} needs the student's tokens, and it is behind an interface",
                where="finetune.mask",
                remedy='set it to "spans", and in a distillation distill.control to false',
            )

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
        """A model `name` of `base` in `folder`, or a result that says why there is none.

        Raises ModelError where the command fails or answers with what cannot be served, DataError
        where the harness admits no rows, InfraError where the probe fails.
        """
        if base.adapter is not None:
            raise ModelError(
                f"{base} is an adapter already", remedy="train from the base it belongs to"
            )
        drawn = await asyncio.to_thread(self._drawn, trajectories, serving)
        if drawn.count < self._settings.min_rows:
            return nothing(drawn.refused, rows=drawn.count, least=self._settings.min_rows)
        lines = await asyncio.to_thread(drawn.lines)
        errand = Errand(
            name=name,
            serving=serving,
            base=base,
            seed=seed,
            key=self._key(lines, serving, base, seed),
            folder=folder,
            work=folder.with_name(f".{folder.name}.external"),
            command=self._external.command,
            base_name=self._base,
        )
        found = await asyncio.to_thread(_sealed, errand)
        if found is not None:
            return found
        paid = kept(errand) or await self._paid(errand, lines, hosted=drawn.hosted)
        try:
            return await drawn.keep(errand, paid)
        except ModelError:
            # an answer of no use: the next try begins with the command
            (errand.work / FINISHED).unlink(missing_ok=True)
            raise

    def _drawn(self, trajectories: Sequence[Trajectory], serving: Harness) -> Drawn:
        if self._local is not None:
            return TokenRows(self._local.rows(trajectories, serving), self._local)
        assert isinstance(self._student, Hosting)
        chosen = select(trajectories, per_task=self._settings.per_task, keep=self._settings.filter)
        markers = self._markers() if callable(self._markers) else self._markers
        made = build_conversations(chosen.episodes, serving, markers=markers)
        return ConversationRows(
            made.model_copy(
                update={"refused": dict(Counter(chosen.refused) + Counter(made.refused))}
            ),
            base=self._student,
            endpoint=self._student,
            settings=self._settings,
        )

    def _key(self, lines: str, serving: Harness, base: ModelRef, seed: int) -> str:
        """Digest of all that decides what comes back, as far as it is known here."""
        return digest(
            {
                "base": base.revision,
                "rows": lines,
                "serving": serving.digest(),
                "settings": self._settings.document(),
                "command": list(self._external.command),
                "seed": seed,
            }
        )

    async def _paid(self, errand: Errand, lines: str, *, hosted: bool) -> Paid:
        """Run the command in a folder that is kept whatever happens: it may go on from what it left
        there itself."""
        if not errand.rows.is_file() or errand.rows.read_text("utf-8") != lines:
            set_aside(errand.work)
        errand.out.mkdir(parents=True, exist_ok=True)
        write_atomically(errand.rows, lines)
        (errand.out / RESULT).unlink(missing_ok=True)
        command = filled(
            self._external.command,
            rows=errand.rows.absolute(),
            out=errand.out.absolute(),
            base=self._base,
            seed=errand.seed,
        )
        self._say(f"training elsewhere; what the command says is in {errand.log}")
        began = time.monotonic()
        await run(
            command,
            errand.log,
            limit_s=self._external.time_limit_s,
            hide=self._secrets.hide,
            where=WHERE,
        )
        result = read_result(errand.out, hosted=hosted, secrets=self._secrets, log=errand.log)
        paid = Paid(key=errand.key, seconds=time.monotonic() - began, result=result)
        write_atomically(errand.work / FINISHED, paid.model_dump_json(indent=1) + "\n")
        return paid


def _sealed(errand: Errand) -> ModelTrained | None:
    """What an earlier training of the same came to; anything else there is set aside."""
    for place in (errand.folder, errand.rejected):
        manifest = read_adapter(place) or read_hosted_manifest(place)
        if manifest is not None and manifest.key == errand.key:
            return manifest.result(place)
        set_aside(place)
    return None
