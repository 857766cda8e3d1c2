"""`evener compare`: two harnesses or two models on the same tasks, with an exit code for CI."""

from pathlib import Path
from typing import Annotated

import typer

from evener.cli.app import app
from evener.cli.option import Quiet
from evener.cli.output import AsJson, emit
from evener.protocols.task import Split

SPEC = "A YAML file, a name that ships with the environment, or RUN:VERSION."


@app.command()
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=SPEC, show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help=SPEC, show_default=False)],
    *,
    environment: Annotated[
        str | None,
        typer.Option(help="A name, or a TOML configuration. Else the run's, else storefront."),
    ] = None,
    split: Annotated[Split, typer.Option(help="Which tasks.")] = Split.HELD_OUT,
    count: Annotated[int, typer.Option(min=1, help="How many tasks.")] = 60,
    seed: Annotated[int, typer.Option(min=0, help="Seed of tasks and sampling.")] = 0,
    model: Annotated[
        str, typer.Option(help="`embedded`, a folder, a hub id, or RUN:NAME.")
    ] = "embedded",
    model_b: Annotated[
        str | None, typer.Option("--model-b", help="B's model, where it is another one.")
    ] = None,
    temperature: Annotated[float, typer.Option(min=0.0, max=2.0, help="0 is greedy.")] = 0.0,
    margin: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="The loss that does not matter, 0.05 say."),
    ] = 0.0,
    out: Annotated[
        Path | None, typer.Option("--out", help="Keep the episodes here, and go on from them.")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Run A and B on the same tasks. Exit code 0: B is better or not worse; 1: worse; 3: the
    interval cannot tell."""
    import asyncio

    from evener.compare import compare as run
    from evener.compared import EXIT, Compared
    from evener.contender import contenders, environment_of
    from evener.environments import create
    from evener.progress import watching
    from evener.report.compared import render

    models = (model, model if model_b is None else model_b)
    place = environment_of(environment, (a, b, *models))
    where = create(place.name, **place.settings)

    async def whole() -> Compared:
        async with contenders((a, b), models, environment=where) as (first, second):
            return await run(
                first,
                second,
                environment=where,
                split=split,
                count=count,
                seed=seed,
                temperature=temperature,
                margin=margin,
                out=out,
                progress=progress,
            )

    with watching(quiet=quiet) as progress:
        found = asyncio.run(whole())
    emit(found, render(found), as_json=as_json)
    if EXIT[found.finding]:
        raise typer.Exit(EXIT[found.finding])
