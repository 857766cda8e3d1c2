"""`evener distill`: put a harness into the weights and take it off."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evener.cli.app import app
from evener.cli.option import (
    DistillFile,
    DryRun,
    OutFolder,
    Overrides,
    Quiet,
    RequireSandbox,
    settled,
)
from evener.cli.output import AsJson, emit
from evener.cli.run import end_on_sigterm

if TYPE_CHECKING:
    from evener.protocols.summary import Summary


@app.command()
def distill(
    config: DistillFile,
    overrides: Overrides = None,
    *,
    out: OutFolder = None,
    dry_run: DryRun = False,
    require_sandbox: RequireSandbox = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a student on its reviewed runs, take the harness off, and measure. Resumes."""
    from evener.config import load
    from evener.estimate import distillation
    from evener.lesson import check_heeded, prepare, wanted
    from evener.parts import Parts

    settings = load(config, settled(overrides, protection=require_sandbox))
    check_heeded(settings)
    cost = distillation(settings.plan, wanted(settings), arms=len(settings.harness.arms))
    if dry_run:
        asyncio.run(prepare(settings, Parts()))
        emit(cost, cost.sentence(), as_json=as_json)
        return
    typer.echo(cost.sentence(), err=True)

    from evener.distillation import Distillation
    from evener.progress import watching
    from evener.report.text import render

    folder = out or Path("runs") / config.stem
    with watching(quiet=quiet) as progress:

        async def whole() -> "Summary":
            end_on_sigterm()
            async with Distillation.open(settings, folder, parts=Parts(progress=progress)) as team:
                if team.folder.resumed:
                    progress.say(f"going on with {folder}")
                return await team.run()

        summary = asyncio.run(whole())
    emit(summary, render(summary), as_json=as_json)
