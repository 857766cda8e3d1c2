"""The command line: parse first, import what the command needs afterwards.

`main` is the console script. It must stay light: `evener --help` imports no model library.
"""

from evener.cli.app import main

__all__ = ["main"]
