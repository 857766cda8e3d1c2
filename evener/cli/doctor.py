"""`evener doctor`: what works here."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from evener.cli.app import app
from evener.cli.output import AsJson

if TYPE_CHECKING:
    from evener.finding import Finding

TITLES = {
    "evener": "evener",
    "libraries": "Libraries",
    "engines": "Engines: what a student can run on",
    "machine": "This machine",
    "isolation": "Isolation of programs that a model wrote",
    "keys": "Keys",
}


@app.command()
def doctor(*, as_json: AsJson = False) -> None:
    """Say what works on this machine, and what to install for what does not."""
    from evener.cli.output import emit
    from evener.doctor import examine

    found = examine()
    emit([f.document() for f in found], page(found), as_json=as_json)
    if any(f.state == "missing" for f in found):
        raise typer.Exit(1)


def page(found: "Sequence[Finding]") -> str:
    """The findings by group, and what they come to."""
    from evener.report.table import table

    parts: list[str] = []
    for group, title in TITLES.items():
        rows = [(f.name, f.state, f.detail, f.remedy) for f in found if f.group == group]
        if rows:
            parts.append(f"{title}\n{table(('part', 'state', 'detail', 'what to do'), rows)}")
    missing = [f.name for f in found if f.state == "missing"]
    able = "The loop can run on the embedded student."
    unable = f"The loop cannot run on the embedded student: see {', '.join(missing)}."
    return "\n\n".join([*parts, unable if missing else able])
