"""`evener graph`: who said what to whom in a run."""

from typing import Annotated

import typer

from evener.cli.app import app
from evener.cli.output import RunPath


@app.command()
def graph(
    run: RunPath,
    *,
    format: Annotated[
        str,
        typer.Option(
            "--format", help="text or mermaid: peers and topics; json or graphml: every message."
        ),
    ] = "text",
) -> None:
    """Print the run's conversation graph."""
    from evener.agents.record.run import RunFolder
    from evener.graph.build import conversation, peers
    from evener.graph.export import writer

    write = writer(format)
    build = conversation if format in ("json", "graphml") else peers
    with RunFolder.read(run) as folder:
        typer.echo(write(build(folder.record.bodies("message"))))
