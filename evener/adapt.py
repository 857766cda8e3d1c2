"""`evener harness adapt`: K of an optimised harness for a target, checked, and where parts went."""

from evener.agents.knowledge.adapt import adapt
from evener.agents.knowledge.check import check_knowledge
from evener.agents.knowledge.part import Holding, parts
from evener.agents.leak import LeakGuard
from evener.agents.pattern.background import published
from evener.protocols.digest import Wire
from evener.protocols.harness import Harness
from evener.protocols.knowledge import Knowledge
from evener.protocols.port import Environment
from evener.protocols.task import Split
from evener.report.table import table

TASKS = 200  # of each split, that K may not repeat a word of; a finite split gives those it has


class PartLine(Wire):
    """A part of the optimised harness: the entries of K it is in, or why in none."""

    part: str
    entries: tuple[str, ...]
    reasons: tuple[str, ...]


class Adapted(Wire):
    """K, and where each part of the optimised harness went."""

    knowledge: Knowledge
    parts: tuple[PartLine, ...]


async def adapted(
    optimised: Harness, target: Harness, *, environment: Environment, seed: int = 0
) -> Adapted:
    """K, made and checked. `seed` draws the tasks that it is held against. Raises UserError."""
    background = await published(environment)
    knowledge = adapt(optimised, target, background)
    draws = [(split, TASKS, seed) for split in Split]
    guard = LeakGuard(environment, background, draws)
    check_knowledge(knowledge, optimised, target, background, guard)
    return Adapted(knowledge=knowledge, parts=lines(optimised, knowledge))


def lines(optimised: Harness, knowledge: Knowledge) -> tuple[PartLine, ...]:
    """A line for each part, in the harness's order."""
    holding = Holding(optimised, knowledge)
    return tuple(
        PartLine(part=part, entries=holding.entries(part), reasons=holding.reasons(part))
        for part in parts(optimised)
    )


def render(found: Adapted) -> str:
    """The table for a terminal, and a count under it."""
    rows = [
        (line.part, ", ".join(line.entries) or "–", "; ".join(line.reasons)) for line in found.parts
    ]
    held = sum(bool(line.entries) for line in found.parts)
    knowledge = found.knowledge
    return "\n".join(
        [
            table(("part", "entry", "why it does not transfer"), rows),
            f"{knowledge.name}: {held} of {len(rows)} parts transfer; {len(knowledge.recipes)} "
            f"recipes, {len(knowledge.hints)} hints, {len(knowledge.guidance)} guidance, "
            f"{len(knowledge.patterns)} failure patterns",
        ]
    )
