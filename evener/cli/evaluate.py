"""`evener evaluate`: one cell of a finished run, run again or for the first time."""

from typing import TYPE_CHECKING, Annotated

import typer

from evener.cli.app import app
from evener.cli.output import AsJson, RunPath, emit
from evener.protocols.task import Split

if TYPE_CHECKING:
    from evener.environments.scoring.figure import Figure
    from evener.evaluate import Repeated


@app.command()
def evaluate(
    run: RunPath,
    *,
    harness: Annotated[str, typer.Option(help="A version, or HEAD.")] = "HEAD",
    model: Annotated[str, typer.Option(help="`base`, or a trained model, m1 say.")] = "base",
    split: Annotated[Split, typer.Option(help="Which tasks.")] = Split.HELD_OUT,
    tasks: Annotated[int, typer.Option(min=1, help="How many.")] = 60,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw.")] = 0,
    tries: Annotated[
        int, typer.Option(min=1, max=64, help="Episodes a task: their mean and their majority.")
    ] = 1,
    temperature: Annotated[
        float, typer.Option(min=0.01, max=2.0, help="Of several tries; a single one is greedy.")
    ] = 0.7,
    as_json: AsJson = False,
) -> None:
    """Run one (model, harness) pair on a split. A look at `test` or `ood` is logged and counted."""
    import asyncio

    from evener.evaluate import evaluate as run_cell
    from evener.evaluate import repeated
    from evener.parts import Parts
    from evener.progress import watching

    if tries > 1:
        with watching() as progress:
            found = asyncio.run(
                repeated(
                    run,
                    version=harness,
                    model=model,
                    split=split,
                    count=tasks,
                    seed=seed,
                    tries=tries,
                    temperature=temperature,
                    parts=Parts(progress=progress),
                )
            )
        emit(found, _several(found), as_json=as_json)
        return
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
    emit(cell, text + _looked(looks, cell.split), as_json=as_json)


def _several(found: "Repeated") -> str:
    lines = [f"{found.name} on {found.split}, temperature {found.temperature:g}, seed {found.seed}"]
    lines += [_figure(found.average), _figure(found.majority)]
    lines.append(f"{found.calls} calls, {found.tokens} tokens")
    return "\n".join(lines) + _looked(found.look, found.split)


def _figure(figure: "Figure") -> str:
    if figure.value is None:
        return f"{figure.name}: nothing could be scored"
    error = "" if figure.error is None else f" ± {figure.error:.1%}"
    return (
        f"{figure.name}: {figure.value:.1%}{error} (95 % {figure.low:.0%}–"
        f"{figure.high:.0%}, n {figure.n}, coverage {figure.coverage:.0%})"
    )


def _looked(look: int, split: str) -> str:
    if not look:
        return ""
    return f"\nlook number {look} at {split}, beside the sealed test itself; it is in the log"
