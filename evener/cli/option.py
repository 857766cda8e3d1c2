"""Options and arguments that several commands have."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

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
Protection = Literal["process", "bwrap"]
RequireSandbox = Annotated[
    Protection | None,
    typer.Option(
        "--require-sandbox",
        help="The least protection under which an environment may run a model's code.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")]


def settled(overrides: Sequence[str] | None, *, protection: Protection | None) -> list[str]:
    """The overrides of a configuration, with the protection that its environment must have."""
    wanted = [f'environment.settings.require_sandbox="{protection}"'] if protection else []
    return [*(overrides or ()), *wanted]
