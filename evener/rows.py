"""The rows that a run's models were trained on, as they lie beside the adapters.

Rows are shown only if their file is, byte for byte, the one that the adapter's manifest names, and
spelled only by the tokenizer of the base that the manifest names.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from evener.agents.hosted import HOSTED
from evener.agents.models.local.engine import model_name
from evener.agents.models.local.render import Renderer
from evener.agents.models.local.resolve import resolve
from evener.agents.models.local.weights import load_tokenizer
from evener.agents.record.beside import Entry
from evener.agents.record.run import RunFolder
from evener.config import of_run
from evener.distill.adapter import MANIFEST, ROWS, AdapterManifest, read_rows
from evener.distill.rows.build import Row
from evener.protocols.error import ConfigError, ModelError, RunError

SHORT = 12  # letters of a trajectory's id that name a row


@dataclass(frozen=True, kw_only=True)
class TrainedRows:
    """What the model `name` was trained on. `named` are the rows by their ids: the beginning of the
    trajectory's, and `.1`, `.2`, … where a trajectory became several rows."""

    run: Path
    name: str
    manifest: AdapterManifest
    named: dict[str, Row]

    def find(self, wanted: str) -> tuple[str, Row]:
        """The row whose id, or whose trajectory's id, begins so. Raises ConfigError for none and
        for several."""
        head, dot, number = wanted.partition(".")
        found = [
            (name, row)
            for name, row in self.named.items()
            if row.trajectory.startswith(head) and (not dot or name.partition(".")[2] == number)
        ]
        if len(found) == 1:
            return found[0]
        if not found:
            raise ConfigError(
                f"no row of {self.name} has an id that begins with {wanted!r}",
                where=str(self.run),
                remedy="`evener rows show RUN` lists them",
            )
        some = ", ".join(name for name, _ in found[:5])
        raise ConfigError(
            f"{len(found)} rows of {self.name} have an id that begins with {wanted!r}",
            where=str(self.run),
            remedy=f"give one of {some}{', …' if len(found) > 5 else ''}",
        )


def trained_rows(folder: RunFolder, model: str | None = None) -> TrainedRows:
    """The rows of a model of the run, of the last that was trained where none is named. Models that
    failed their probe are there as NAME.rejected.

    Raises ConfigError for a model that is not there, RunError for rows that are not whole.
    """
    there = _models(folder)
    name = model if model is not None else _last(folder, there)
    if name not in there:
        known = f"there are {', '.join(there)}" if there else "the run has trained nothing yet"
        raise ConfigError(f"no model {name!r}", where=str(folder.path), remedy=known)
    place = folder.models / name
    manifest = _manifest(place)
    path = place / ROWS
    if path.is_file() and manifest.files.get(ROWS) != Entry.of(path):
        raise RunError(
            "damaged: these are not the rows that the model was trained on",
            where=str(path),
            remedy="restore the file",
        )
    named = _named(read_rows(place))
    return TrainedRows(run=folder.path, name=name, manifest=manifest, named=named)


def renderer_of(folder: RunFolder, rows: TrainedRows) -> Renderer:
    """The tokenizer of the base that these rows were made for: that of the run's student. Raises
    ModelError where it is not on this machine; nothing is fetched for it."""
    student = of_run(folder).student.model
    base = rows.manifest.base.base
    place = resolve(student, offline=True)
    if model_name(place) != base:
        raise ModelError(
            f"{rows.name} was trained on {base}, and the run names another student, {student!r}",
            where=str(folder.path),
            remedy="its rows cannot be spelled without the tokenizer of that model",
        )
    renderer = Renderer(load_tokenizer(place))
    highest = max((max(row.ids) for row in rows.named.values() if row.ids), default=0)
    if highest >= len(renderer.tokenizer):
        raise ModelError(
            f"its tokenizer has no token {highest}, which stands in the rows of {rows.name}",
            where=str(place),
            remedy="the model was changed since the training; restore it",
        )
    return renderer


def _models(folder: RunFolder) -> list[str]:
    if not folder.models.is_dir():
        return []
    names = (place.name for place in folder.models.iterdir() if place.is_dir())
    return sorted(name for name in names if not name.startswith("."))


def _last(folder: RunFolder, there: Sequence[str]) -> str:
    """The model that the run trained last."""
    trained = [
        Path(str(body["folder"])).name
        for body in folder.record.bodies("trained")
        if body["model"] is not None
    ]
    served = [name for name in trained if name in there]
    if served:
        return served[-1]
    raise ConfigError(
        "the run has trained no model yet",
        where=str(folder.path),
        remedy=f"name one with --model: there are {', '.join(there)}" if there else "",
    )


def _manifest(place: Path) -> AdapterManifest:
    try:
        return AdapterManifest.model_validate_json((place / MANIFEST).read_bytes())
    except FileNotFoundError:
        raise RunError(
            f"it has no {MANIFEST}: no rows are known of this model", where=str(place)
        ) from None
    except (OSError, ValidationError) as error:
        if (place / HOSTED).is_file():
            raise RunError(
                "it was trained elsewhere on conversations, whose tokens are not known here",
                where=str(place),
                remedy=f"they lie in {place / ROWS} as they were handed over",
            ) from None
        why = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error.strerror
        raise RunError(
            f"damaged: {why}", where=str(place / MANIFEST), remedy="restore the file"
        ) from None


def _named(rows: Sequence[Row]) -> dict[str, Row]:
    of_one = Counter(row.trajectory for row in rows)
    seen: Counter[str] = Counter()
    named: dict[str, Row] = {}
    for row in rows:
        seen[row.trajectory] += 1
        several = f".{seen[row.trajectory]}" if of_one[row.trajectory] > 1 else ""
        named[row.trajectory[:SHORT] + several] = row
    return named
