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
        str, typer.Option("--format", help="text, mermaid, json or graphml.")
    ] = "text",
    messages: Annotated[
        bool, typer.Option("--messages", help="Every message, not only who talks to whom.")
    ] = False,
) -> None:
    """Print the run's conversation graph."""
    from evener.agents.record.run import RunFolder
    from evener.graph.build import conversation, peers
    from evener.graph.export import writer

    write = writer(format)
    with RunFolder.read(run) as folder:
        log = folder.record.bodies("message")
        whole = messages or format in ("json", "graphml")
        typer.echo(
            write(conversation(log) if whole and format not in ("text", "mermaid") else peers(log))
        )
