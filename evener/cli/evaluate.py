"""`evener evaluate`: one cell of a finished run, run again or for the first time."""

from typing import Annotated

import typer

from evener.cli.app import app
from evener.cli.output import AsJson, RunPath, emit
from evener.protocols.task import Split


@app.command()
def evaluate(
    run: RunPath,
    *,
    harness: Annotated[str, typer.Option(help="A version, or HEAD.")] = "HEAD",
    model: Annotated[str, typer.Option(help="`base`, or a trained model, m1 say.")] = "base",
    split: Annotated[Split, typer.Option(help="Which tasks.")] = Split.HELD_OUT,
    tasks: Annotated[int, typer.Option(min=1, help="How many.")] = 60,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Run one (model, harness) pair on a split. A look at `test` or `ood` is logged and counted."""
    import asyncio

    from evener.evaluate import evaluate as run_cell
    from evener.parts import Parts
    from evener.progress import watching

    with watching() as progress:
        cell, looks = asyncio.run(
            run_cell(
                run,
                version=harness,
                model=model,
                split=split,
                count=tasks,
                seed=seed,
                parts=Parts(progress=progress),
            )
        )
    text = (
        f"{cell.name} on {cell.split}: {cell.solved}/{cell.n} = {cell.rate:.0%} "
        f"(95 % {cell.low:.0%}–{cell.high:.0%}, coverage {cell.coverage:.0%}, seed {cell.seed})"
    )
    if looks:
        text += f"\nlook number {looks} at {cell.split} since the sealed test; it is in the log"
    emit(cell, text, as_json=as_json)
