"""`evener harness adapt`: K of an optimized harness for a target, checked, and where parts went."""

from pathlib import Path

from evener.agents.knowledge.adapt import adapt
from evener.agents.knowledge.check import check_knowledge
from evener.agents.knowledge.load import load
from evener.agents.knowledge.part import Holding, parts
from evener.agents.knowledge.rewrite import rewrite
from evener.agents.leak import LeakGuard
from evener.agents.pattern.background import published
from evener.protocols.digest import Wire
from evener.protocols.harness import Harness
from evener.protocols.knowledge import Knowledge
from evener.protocols.port import Environment, Model
from evener.protocols.task import Split
from evener.report.table import table

TASKS = 200  # of each split, that K may not repeat a word of; a finite split gives those it has


class PartLine(Wire):
    """A part of the optimized harness: the entries of K it is in, or why in none."""

    part: str
    entries: tuple[str, ...]
    reasons: tuple[str, ...]


class Adapted(Wire):
    """K, and where each part of the optimized harness went. Where a model put its texts in other
    words: how many, and why others stayed as they were."""

    knowledge: Knowledge
    parts: tuple[PartLine, ...]
    rewritten: int = 0
    dropped: dict[str, int] = {}


async def adapted(
    optimized: Harness,
    target: Harness,
    *,
    environment: Environment,
    seed: int = 0,
    file: Path | None = None,
    rewriter: Model | None = None,
) -> Adapted:
    """K, made or read from `file`, and checked; its texts in the words of `rewriter`.

    `seed` draws the tasks that it is held against. Raises UserError, and InfraError where the
    rewriter cannot be had.
    """
    background = await published(environment)
    knowledge = adapt(optimized, target, background) if file is None else load(file)
    draws = [(split, TASKS, seed) for split in Split]
    guard = LeakGuard(environment, background, draws)
    check_knowledge(knowledge, optimized, target, background, guard)
    if rewriter is None:
        return Adapted(knowledge=knowledge, parts=lines(optimized, knowledge))
    said = await rewrite(knowledge, rewriter, optimized=optimized, target=target, guard=guard)
    check_knowledge(said.knowledge, optimized, target, background, guard)
    return Adapted(
        knowledge=said.knowledge,
        parts=lines(optimized, said.knowledge),
        rewritten=said.rewritten,
        dropped=said.dropped,
    )


def lines(optimized: Harness, knowledge: Knowledge) -> tuple[PartLine, ...]:
    """A line for each part, in the harness's order."""
    holding = Holding(optimized, knowledge)
    return tuple(
        PartLine(part=part, entries=holding.entries(part), reasons=holding.reasons(part))
        for part in parts(optimized)
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
            *_rewording(found),
        ]
    )


def _rewording(found: Adapted) -> list[str]:
    if not found.rewritten and not found.dropped:
        return []
    dropped = ", ".join(f"{count} {reason}" for reason, count in found.dropped.items())
    kept = f"; kept as they were: {dropped}" if dropped else ""
    return [f"{found.rewritten} texts rewritten by the model{kept}"]
