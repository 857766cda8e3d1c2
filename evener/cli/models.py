"""`evener models`: fetch the embedded student, export a trained one, try one of your own."""

from pathlib import Path
from typing import Annotated

import typer

from evener.cli.app import app
from evener.cli.output import AsJson, RunPath, emit

group = typer.Typer(name="models", help="Fetch, export and try models.", no_args_is_help=True)
app.add_typer(group)


@group.command()
def fetch(
    model: Annotated[str, typer.Argument(help="`embedded`, a folder, or a hub id.")] = "embedded",
    *,
    as_json: AsJson = False,
) -> None:
    """Fetch a model, convert it once, check it, and print its folder."""
    from evener.agents.models.local.resolve import resolve

    folder = resolve(model)
    emit({"model": model, "folder": str(folder)}, str(folder), as_json=as_json)


@group.command()
def export(
    run: RunPath,
    model: Annotated[str, typer.Argument(help="A trained model of the run, m1 for example.")],
    out: Annotated[Path, typer.Argument(help="The folder to write.", show_default=False)],
    *,
    merged: Annotated[
        bool, typer.Option("--merged", help="Whole weights instead of the adapter alone.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a trained model with its chat template, to deploy without evener."""
    from evener.agents.record.run import RunFolder
    from evener.config import of_run
    from evener.distill.export import export as write
    from evener.protocols.error import ConfigError

    with RunFolder.read(run) as folder:
        there = sorted(p.name for p in folder.models.iterdir()) if folder.models.is_dir() else []
        config = of_run(folder)
    if model not in there:
        raise ConfigError(
            f"no model {model!r}",
            where=str(run),
            remedy=f"there are {', '.join(there)}" if there else "the run trained none",
        )
    from evener.agents.models.local.resolve import resolve

    written = write(folder.models / model, out, base=resolve(config.student.model), merged=merged)
    emit({"folder": str(written), "merged": merged}, str(written), as_json=as_json)


@group.command()
def propose(
    run: RunPath,
    adapter: Annotated[
        Path, typer.Argument(help="A folder with a LoRA adapter.", show_default=False)
    ],
    *,
    name: Annotated[str, typer.Option(help="What to call it.")] = "",
    as_json: AsJson = False,
) -> None:
    """Try weights of your own at the run's gate, against the model in force, under HEAD."""
    import asyncio

    from evener.parts import Parts
    from evener.progress import watching
    from evener.propose import propose_model

    with watching() as progress:
        attempt = propose_model(
            run, adapter, name=name or adapter.name, parts=Parts(progress=progress)
        )
        tried = asyncio.run(attempt)
    verdict = tried.verdict
    text = f"{verdict.ruling} under {tried.version}: {verdict.reason}"
    emit(tried, text, as_json=as_json)
