"""`evener rows`: what a run's models were trained on, token by token.

What models and tasks wrote is shown with every sign escaped that a terminal would obey, or that
would be taken for a mark.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evener.cli.app import app
from evener.cli.output import AsJson, RunPath, emit
from evener.cli.printable import printable
from evener.protocols.digest import JsonObject

if TYPE_CHECKING:
    from evener.distill.rows.piece import Piece
    from evener.rows import TrainedRows

group = typer.Typer(name="rows", help="What a model was trained on.", no_args_is_help=True)
app.add_typer(group)

OPEN, CLOSE = "⟦", "⟧"
LEGEND = (
    f"{OPEN}…{CLOSE} encloses the tokens that carry the loss. Control characters and these two "
    "brackets, where the text itself has them, are written as \\x1b, \\u27e6, \\u27e7"
)

Model = Annotated[
    str | None,
    typer.Option(
        "--model", help="m1, or m1.rejected for one that failed its probe. Else the last trained."
    ),
]


@group.command()
def show(
    run: RunPath,
    row: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="A row's id, or its beginning.", show_default=False),
    ] = None,
    *,
    model: Model = None,
    as_json: AsJson = False,
) -> None:
    """List the rows that a model was trained on, or print one as the student was shown it."""
    from evener.agents.record.run import RunFolder
    from evener.distill.rows.piece import pieces, speller
    from evener.rows import renderer_of, trained_rows

    with RunFolder.read(run) as folder:
        rows = trained_rows(folder, model)
        if row is None:
            emit(_document(rows), _listed(rows), as_json=as_json)
            return
        name, found = rows.find(row)
        parts = pieces(found, speller(renderer_of(folder, rows)))
    if as_json:
        answer: JsonObject = {
            "id": name,
            "model": rows.name,
            **found.document(),
            "tokens": len(found.ids),
            "trained": found.trained,
            "text": "".join(part.text for part in parts),
            "pieces": [part.document() for part in parts],
        }
        typer.echo(json.dumps(answer, indent=1))
        return
    typer.echo(LEGEND, err=True)
    typer.echo(marked(parts))


@group.command()
def export(
    run: RunPath,
    file: Annotated[Path, typer.Argument(help="The file to write.", show_default=False)],
    *,
    model: Model = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the rows as JSON lines: token ids, trained spans, text, task, kind, trajectory."""
    from evener.agents.record.atomic import write_atomically
    from evener.agents.record.run import RunFolder
    from evener.distill.rows.piece import exported, speller
    from evener.protocols.error import ConfigError
    from evener.rows import renderer_of, trained_rows

    with RunFolder.read(run) as folder:
        rows = trained_rows(folder, model)
        if file.is_dir():
            raise ConfigError("is a folder", where=str(file), remedy="give the name of a file")
        if file.exists() and not force:
            raise ConfigError("is there already", where=str(file), remedy="replace it with --force")
        spell = speller(renderer_of(folder, rows))
    lines = [exported(row, spell) for row in rows.named.values()]
    write_atomically(file, "".join(lines))
    answer: JsonObject = {"file": str(file), "model": rows.name, "rows": len(lines)}
    emit(answer, f"{len(lines)} rows of {rows.name} in {file}", as_json=as_json)


def marked(parts: Sequence["Piece"]) -> str:
    """The pieces as one text, trained ones in marks, and in colour where there is a terminal."""
    return "".join(
        typer.style(f"{OPEN}{text}{CLOSE}", fg=typer.colors.GREEN) if part.trained else text
        for part in parts
        for text in [printable(part.text, besides=OPEN + CLOSE)]
    )


def _document(rows: "TrainedRows") -> JsonObject:
    manifest = rows.manifest
    return {
        "model": rows.name,
        "reason": manifest.reason,
        "filter": manifest.settings.filter,
        "mask": manifest.settings.mask,
        "rows": [
            {
                "id": name,
                "task": row.task,
                "kind": row.kind,
                "trajectory": row.trajectory,
                "tokens": len(row.ids),
                "trained": row.trained,
            }
            for name, row in rows.named.items()
        ],
        "refused": {**manifest.refused},
        "untrained": {**manifest.untrained},
    }


def _listed(rows: "TrainedRows") -> str:
    from evener.report.table import table

    manifest = rows.manifest
    cells = [
        (
            name,
            printable(row.task, lines=False),
            printable(row.kind, lines=False),
            len(row.ids),
            row.trained,
        )
        for name, row in rows.named.items()
    ]
    tokens = sum(len(row.ids) for row in rows.named.values())
    trained = sum(row.trained for row in rows.named.values())
    settings = manifest.settings
    lines = [
        table(("row", "task", "kind", "tokens", "trained"), cells),
        f"{rows.name}: {len(cells)} rows, {tokens} tokens, {trained} trained "
        f"(filter {settings.filter}, mask {settings.mask})",
        f"refused rows or episodes: {_counts(manifest.refused)}",
        f"replies without a loss: {_counts(manifest.untrained)}",
    ]
    if manifest.reason:
        lines.append(f"not served: {printable(manifest.reason, lines=False)}")
    return "\n".join(lines)


def _counts(reasons: dict[str, int]) -> str:
    return ", ".join(f"{reason} {n}" for reason, n in sorted(reasons.items())) or "none"
