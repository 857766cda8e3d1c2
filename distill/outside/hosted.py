"""A model that was trained elsewhere on conversations, and that the student's own endpoint serves:
is it there, is it another one than its base, and what was it trained from.
"""

import asyncio
import json
import shutil
from pathlib import Path

from pydantic import ValidationError

from evener.agents.hosted import HOSTED, Hosted
from evener.agents.record.beside import Entry, entries, file_sha256
from evener.distill.adapter import MANIFEST, ROWS, External, scratch, seal
from evener.distill.outside.errand import Errand, Paid
from evener.distill.rows.conversation import ConversationSet
from evener.distill.settings import SftSettings
from evener.protocols.digest import Wire
from evener.protocols.message import Message
from evener.protocols.model import ModelRef, Reply, Request, Sampling, StopReason
from evener.protocols.port import Hosting, Model
from evener.protocols.wire import ModelTrained

OPEN = Message(role="user", content="Write a paragraph about what you can do, and for whom.")
"""Asked besides the prompts of the rows, on which a student that was right before still is."""


class HostedProbe(Wire):
    """Of `asked` prompts `differing` were answered otherwise than by the base: in other words, or
    with another mean log-probability where the endpoint tells it; `stopped` of the rows' prompts
    ended by themselves."""

    asked: int
    differing: int
    stopped: int
    faults: tuple[str, ...]


class HostedManifest(Wire):
    """What a hosted model was trained from, and what came of it. `model` is None, and `reason` says
    why, for one that failed its probe."""

    format: int = 1
    key: str
    name: str
    base: ModelRef
    hosted: str
    model: ModelRef | None
    reason: str = ""
    serving_harness: str
    data_digest: str
    settings: SftSettings
    seed: int
    rows: int
    refused: dict[str, int]
    untrained: dict[str, int]
    external: External
    probe: HostedProbe
    files: dict[str, Entry]

    def result(self, folder: Path) -> ModelTrained:
        """The answer to whoever asked for the training. Its tokens are not known here."""
        return ModelTrained(
            model=self.model,
            folder=str(folder) if self.model is not None else "",
            rows=self.rows,
            refused=self.refused,
            seconds=self.external.seconds,
            reason=self.reason,
        )


def read_hosted_manifest(folder: Path) -> HostedManifest | None:
    """The folder's manifest where it has one of a hosted model and every file is what it says."""
    try:
        manifest = HostedManifest.model_validate_json((folder / MANIFEST).read_bytes())
        for name, entry in manifest.files.items():
            if Entry.of(folder / name) != entry:
                return None
    except (OSError, ValidationError):
        return None
    return manifest


class ConversationRows:
    """Rows of a student behind an interface."""

    hosted = True

    def __init__(
        self, rows: ConversationSet, *, base: Model, endpoint: Hosting, settings: SftSettings
    ) -> None:
        self._rows = rows
        self._base = base
        self._endpoint = endpoint
        self._settings = settings

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self._rows.rows)

    @property
    def refused(self) -> dict[str, int]:
        """Rows and episodes left out, by reason."""
        return self._rows.refused

    def lines(self) -> str:
        """Conversations, one a line."""
        return "".join(row.line() for row in self._rows.rows)

    async def keep(self, errand: Errand, paid: Paid) -> ModelTrained:
        """The endpoint's model as one of the run's, or why it failed its probe. Raises ModelError
        where the endpoint does not know it, InfraError where it cannot be asked."""
        assert paid.result.model is not None
        hosted = Hosted(model=paid.result.model, key=errand.key)
        ref = hosted.ref(errand.base, errand.name)
        probe = await self._probe(self._endpoint.serving(hosted.model, ref))
        with scratch(errand.folder) as part:
            built = part / "model"
            built.mkdir()
            for path in (errand.rows, errand.log):
                shutil.copyfile(path, built / path.name)
            (built / HOSTED).write_text(json.dumps(hosted.document(), indent=1) + "\n", "utf-8")
            manifest = HostedManifest(
                key=errand.key,
                name=errand.name,
                base=errand.base,
                hosted=hosted.model,
                model=None if probe.faults else ref,
                reason="failed its probe: " + "; ".join(probe.faults) if probe.faults else "",
                serving_harness=errand.serving.digest(),
                data_digest=file_sha256(built / ROWS),
                settings=self._settings,
                seed=errand.seed,
                rows=self.count,
                refused=self._rows.refused,
                untrained=self._rows.untrained,
                external=paid.account(errand),
                probe=probe,
                files=entries(built),
            )
            target = errand.folder if manifest.model is not None else errand.rejected
            await asyncio.to_thread(seal, built, target, manifest)
        return manifest.result(target)

    async def _probe(self, new: Model) -> HostedProbe:
        """Ask both the same, greedily."""
        rows, settings = self._rows.rows, self._settings
        step = max(1, len(rows) // settings.probe_prompts)
        chosen = rows[::step][: settings.probe_prompts]
        prompts = [row.messages[: row.taught[0]] for row in chosen]
        sampling = Sampling(temperature=0.0, max_tokens=settings.probe_tokens)
        requests = [Request(messages=m, sampling=sampling) for m in (*prompts, (OPEN,))]
        # the new one first, and once: a name that is not there is one line, and costs nothing
        first = await new.complete(requests[0])
        others = await asyncio.gather(*(new.complete(request) for request in requests[1:]))
        before = await asyncio.gather(*(self._base.complete(request) for request in requests))
        replies = (first, *others)
        differing = sum(map(_differ, before, replies))
        ended = sum(reply.stop_reason is not StopReason.LENGTH for reply in replies[:-1])
        faults: list[str] = []
        if not differing:
            faults.append(f"it answers all of {len(requests)} prompts as its base does")
        if 2 * ended < len(prompts):
            limit = settings.probe_tokens
            faults.append(
                f"it ended its turn within {limit} tokens on {ended} of {len(prompts)} prompts"
            )
        return HostedProbe(
            asked=len(requests), differing=differing, stopped=ended, faults=tuple(faults)
        )


def _differ(one: Reply, other: Reply) -> bool:
    if (one.text, one.reasoning) != (other.text, other.reasoning):
        return True
    known = one.mean_logprob is not None and other.mean_logprob is not None
    return known and one.mean_logprob != other.mean_logprob
