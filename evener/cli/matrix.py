"""`evener matrix`: the arms beside a finished run's gain."""

from typing import Annotated

import typer

from evener.cli.app import app
from evener.cli.option import Quiet
from evener.cli.output import AsJson, RunPath, emit


@app.command()
def matrix(
    run: RunPath,
    *,
    versions: Annotated[
        bool, typer.Option("--versions", help="Also every model under every harness.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="ARM", help="Only this arm; repeatable.")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Put arms beside a finished run, a distillation too: votes, review alone and more. Resumes."""
    import asyncio

    from evener.matrix.run import matrix as run_arms
    from evener.parts import Parts
    from evener.progress import watching
    from evener.report.text import render

    with watching(quiet=quiet) as progress:
        summary = asyncio.run(
            run_arms(run, versions=versions, only=only or (), parts=Parts(progress=progress))
        )
    emit(summary, render(summary), as_json=as_json)
