"""Which skills were active in an episode, and which worked examples the student was shown."""

from evener.agents.pattern.finding import Case
from evener.protocols.event import Activated
from evener.protocols.harness import ExampleTurn
from evener.protocols.path import Item, parse

Example = tuple[ExampleTurn, ...]


def on_view(case: Case) -> tuple[Example, ...]:
    """The worked examples the student was shown: those of active skills, or the prompt's."""
    names = active_skills(case)
    mounted = [e for s in case.harness.skills if s.name in names for e in s.examples]
    return tuple(mounted) or case.harness.prompt.examples


def active_skills(case: Case) -> frozenset[str]:
    """The names of the skills that were active in the episode."""
    paths = [parse(e.part) for e in case.events if isinstance(e, Activated)]
    return frozenset(
        str(path[1])
        for path in paths
        if len(path) > 1 and path[0] == "skills" and isinstance(path[1], Item)
    )
