"""`evener bench`: comparisons with controls that no user has."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evener.cli.app import app
from evener.cli.output import AsJson, emit
from evener.cli.run import Quiet, end_on_sigterm

if TYPE_CHECKING:
    from evener.bench.result import SourceTable

group = typer.Typer(
    name="bench", help="Comparisons with controls that no user has.", no_args_is_help=True
)
app.add_typer(group)


@group.callback()
def bench() -> None:
    """Comparisons with controls that no user has."""


@group.command()
def sources(
    config: Annotated[
        Path, typer.Argument(help="A TOML configuration with [distill].", show_default=False)
    ],
    overrides: Annotated[
        list[str] | None, typer.Argument(help="key=value, dotted keys.", show_default=False)
    ] = None,
    *,
    out: Annotated[Path | None, typer.Option("--out", help="The run folder.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check and estimate only.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a student on each of six sources of data and score them all alike. Resumes."""
    from evener.bench.sources import SourceBench, checked, expected
    from evener.config import load
    from evener.lesson import wanted
    from evener.parts import Parts

    settings = load(config, overrides or ())
    wanted(settings)
    cost = expected(settings)
    if dry_run:
        asyncio.run(checked(settings, Parts()))
        emit(cost, cost.sentence(), as_json=as_json)
        return
    typer.echo(cost.sentence(), err=True)

    from evener.bench.page import render
    from evener.progress import watching

    folder = out or Path("runs") / f"{config.stem}-sources"
    with watching(quiet=quiet) as progress:

        async def whole() -> "SourceTable":
            end_on_sigterm()
            async with SourceBench.open(settings, folder, parts=Parts(progress=progress)) as made:
                if made.folder.resumed:
                    progress.say(f"going on with {folder}")
                return await made.run(command=f"evener bench sources {config.name}")

        found = asyncio.run(whole())
    emit(found, render(found), as_json=as_json)
