"""Options and arguments that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

ConfigFile = Annotated[Path, typer.Argument(help="A TOML configuration.", show_default=False)]
DistillFile = Annotated[
    Path, typer.Argument(help="A TOML configuration with a table distill.", show_default=False)
]
Overrides = Annotated[
    list[str] | None, typer.Argument(help="key=value, dotted keys.", show_default=False)
]
OutFolder = Annotated[Path | None, typer.Option("--out", help="The run folder.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check and estimate only.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")]
