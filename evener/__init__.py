"""evener: a language model and its harness improve each other, and it says by how much.

The names below are the public ones; each is imported when it is first asked for, so that
`import evener` costs nothing. Parts live in `evener.protocols`, `evener.environments`,
`evener.agents` and `evener.distill`.
"""

from typing import TYPE_CHECKING

from evener.version import VERSION

if TYPE_CHECKING:
    from evener.config import RunConfig
    from evener.parts import Parts
    from evener.protocols.error import EvenerError, InfraError, UserError
    from evener.protocols.harness import Harness
    from evener.protocols.model import ModelRef, Reply, Request
    from evener.protocols.patch import FieldEdit, Patch
    from evener.protocols.port import Environment, Model, Session
    from evener.protocols.summary import Summary
    from evener.protocols.task import Split, Task
    from evener.protocols.trajectory import Score, Trajectory
    from evener.team import Team

__version__ = VERSION

__all__ = [
    "Environment",
    "EvenerError",
    "FieldEdit",
    "Harness",
    "InfraError",
    "Model",
    "ModelRef",
    "Parts",
    "Patch",
    "Reply",
    "Request",
    "RunConfig",
    "Score",
    "Session",
    "Split",
    "Summary",
    "Task",
    "Team",
    "Trajectory",
    "UserError",
    "__version__",
]

_HOMES = {
    "evener.config": ("RunConfig",),
    "evener.parts": ("Parts",),
    "evener.protocols.error": ("EvenerError", "InfraError", "UserError"),
    "evener.protocols.harness": ("Harness",),
    "evener.protocols.model": ("ModelRef", "Reply", "Request"),
    "evener.protocols.patch": ("FieldEdit", "Patch"),
    "evener.protocols.port": ("Environment", "Model", "Session"),
    "evener.protocols.summary": ("Summary",),
    "evener.protocols.task": ("Split", "Task"),
    "evener.protocols.trajectory": ("Score", "Trajectory"),
    "evener.team": ("Team",),
}


if not TYPE_CHECKING:  # a checker that saw it would take every misspelt name for a public one

    def __getattr__(name: str) -> object:
        """A public name, from the module it lives in."""
        from importlib import import_module

        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(home), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        """The public names."""
        return __all__
