"""stdout is the answer: text for a person, or one JSON document with `--json`. Neither holds a sign
that a terminal obeys."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from evener.cli.printable import printable, printable_json
from evener.protocols.digest import JsonObject, Wire

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
RunPath = Annotated[Path, typer.Argument(help="A run folder.", show_default=False)]


def emit(answer: Wire | JsonObject | Sequence[JsonObject], text: str, *, as_json: bool) -> None:
    """Print the answer in the form asked for."""
    if not as_json:
        typer.echo(printable(text))
        return
    data = answer.document() if isinstance(answer, Wire) else answer
    typer.echo(printable_json(json.dumps(data, ensure_ascii=False, indent=1)))
