"""The detectors of a harness: those its typed parts imply, then those the environment publishes.

The order is part of the result: of two patterns that come to the same, the first stands for both.
"""

from collections.abc import Callable, Iterator

from evener.distill.detectors.argument import arguments
from evener.distill.detectors.conduct import conduct
from evener.distill.detectors.hook import hooks
from evener.distill.detectors.procedure import procedures
from evener.distill.detectors.step import steps
from evener.protocols.behaviour import Behaviour
from evener.protocols.error import ConfigError
from evener.protocols.harness import Harness
from evener.protocols.path import ABSENT, read
from evener.protocols.port import Detectable, Detector, Environment

GENERATORS: dict[str, Callable[[Harness], Iterator[Behaviour]]] = {
    "procedure, tools": procedures,
    "steps": steps,
    "canonical": arguments,
    "hook": hooks,
    "conduct": conduct,
}


def detectors_of(optimized: Harness, environment: Environment) -> tuple[Detector, ...]:
    """The generated ones, then the environment's own whose part the harness has.

    Raises ConfigError where two have one name.
    """
    document = optimized.document()
    own = environment.detectors() if isinstance(environment, Detectable) else ()
    made: list[Detector] = [found for make in GENERATORS.values() for found in make(optimized)]
    made += [detector for detector in own if read(document, detector.part) is not ABSENT]
    names = [detector.name for detector in made]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(
            f"two detectors are named {twice[0]!r}",
            where=f"the environment {environment.name}",
            remedy="Give one of them another name",
        )
    return tuple(made)


def undetected(optimized: Harness, detectors: tuple[Detector, ...]) -> tuple[str, ...]:
    """The parts of the harness that no detector stands for: tools that are more than an action of
    the environment, skills, hooks, entries of memory."""
    parts = [f"tools[{t.name}]" for t in optimized.tools if t.steps or t.arguments or t.aliases]
    parts += [f"skills[{skill.name}]" for skill in optimized.skills]
    parts += [
        f"middleware.hooks.{stage}[{hook.name}]"
        for stage, found in optimized.middleware.hooks
        for hook in found
    ]
    parts += [f"memory.entries[{note.name}]" for note in optimized.memory.entries]
    covered = [detector.part for detector in detectors]
    return tuple(p for p in parts if not any(c == p or c.startswith(f"{p}.") for c in covered))
