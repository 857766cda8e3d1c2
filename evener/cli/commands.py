"""Every command module, attached to the app. The modules themselves import nothing heavy."""

from importlib import import_module

MODULES = (
    "bench",
    "compare",
    "detectors",
    "distill",
    "doctor",
    "evaluate",
    "gate",
    "graph",
    "harness",
    "matrix",
    "models",
    "report",
    "rows",
    "run",
    "trajectories",
)


def attach() -> None:
    """Register the commands; importing a module does it."""
    for name in MODULES:
        import_module(f"evener.cli.{name}")
