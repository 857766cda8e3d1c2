"""`evener doctor`: what works here."""

import typer

from evener.cli.app import app
from evener.cli.output import AsJson


@app.command()
def doctor(*, as_json: AsJson = False) -> None:
    """Say what works on this machine, and what to install for what does not."""
    from evener.cli.output import emit
    from evener.doctor import examine
    from evener.report.table import table

    found = examine()
    text = table(
        ("part", "state", "detail", "what to do"),
        [(f.name, f.state, f.detail, f.remedy) for f in found],
    )
    emit([f.document() for f in found], text, as_json=as_json)
    if any(f.state == "missing" for f in found):
        raise typer.Exit(1)
