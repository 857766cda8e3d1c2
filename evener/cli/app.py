"""The `evener` command: its options and its exit codes.

0 is success, 1 a failure of the machinery, 2 a mistake of the user's (one line, no traceback),
130 an interrupt, 143 a termination.
"""

import sys
from asyncio import CancelledError
from errno import ENAMETOOLONG
from typing import Annotated

import typer

from evener.protocols.error import EvenerError, UserError
from evener.version import VERSION

INTERRUPTED = 130
KEPT = "what is in a run folder is kept: the same command goes on from there"

app = typer.Typer(
    name="evener",
    help="Let a language model and its harness improve each other, and measure by how much.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"evener {VERSION}")
        raise typer.Exit


@app.callback()
def evener(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Let a language model and its harness improve each other, and measure by how much."""


def main() -> None:
    """Run the command and exit; an `EvenerError` becomes one line on stderr."""
    from evener.cli import commands

    commands.attach()
    try:
        app()
    except SystemExit as end:
        if end.code == INTERRUPTED:  # typer turns an interrupt into an exit of its own
            typer.echo(f"evener: interrupted; {KEPT}", err=True)
        raise
    except UserError as error:
        typer.echo(f"evener: {error}", err=True)
        sys.exit(2)
    except EvenerError as error:
        typer.echo(f"evener: {type(error).__name__}: {error}", err=True)
        sys.exit(1)
    except OSError as error:
        if error.errno != ENAMETOOLONG:
            raise
        # whatever was named, no command can look for it
        typer.echo(f"evener: {str(error.filename)[:60]}…: {error.strerror}", err=True)
        sys.exit(2)
    except CancelledError:
        typer.echo(f"evener: terminated; {KEPT}", err=True)
        sys.exit(143)
