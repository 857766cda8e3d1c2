"""`evener report`: what a run found, or several seeds of it together."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from evener.cli.app import app
from evener.cli.printable import printable, printable_json


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.", show_default=False)],
    *,
    format: Annotated[
        Literal["text", "markdown", "json"],
        typer.Option("--format", help="For a terminal, a page, or a program."),
    ] = "text",
    out: Annotated[
        Path | None, typer.Option("--out", help="Write to this file, not to stdout.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As --format json.")] = False,
) -> None:
    """Say what a run found, as far as it has come. Several seeds of one run are pooled."""
    import json

    from evener.agents.record.atomic import write_atomically
    from evener.agents.record.manifest import Manifest
    from evener.pool import pool
    from evener.report.markdown import page
    from evener.report.text import render, render_pooled

    pooled = pool(runs)
    single = pooled.runs[0] if len(runs) == 1 else None
    match "json" if as_json else format:
        case "json":
            answer = single or pooled
            text = json.dumps(answer.document(), ensure_ascii=False, indent=1) + "\n"
        case "markdown":
            manifest = Manifest.load(runs[0] / "manifest.json")
            text = page(pooled, manifest, command=_command(runs, out))
        case _:
            text = (render(single) if single else render_pooled(pooled)) + "\n"
    if out is None:
        shown = printable_json if as_json or format == "json" else printable
        typer.echo(shown(text), nl=False)
        return
    write_atomically(out, text)
    typer.echo(f"wrote {out}", err=True)


def _command(runs: list[Path], out: Path | None) -> str:
    """The command that writes the page again. Paths of this machine alone are left out of it:
    folders go by their names."""
    folders = (run.name if run.is_absolute() else run.as_posix() for run in runs)
    command = f"evener report {' '.join(folders)} --format markdown"
    return command if out is None or out.is_absolute() else f"{command} --out {out.as_posix()}"
