"""The parts of a harness, and which of them K holds.

A part is the smallest thing that an entry of K is made of: one text, one schema, one argument's
rule, one example, one hook with its settings, one note, one setting. An empty text or list is none.
"""

from collections.abc import Iterator

from evener.agents.harness.hooks.table import STAGES
from evener.protocols.harness import Harness, Hook, Hooks, Skill, Tool
from evener.protocols.knowledge import Guidance, Knowledge, Recipe

PROMPT = "prompt"


def parts(harness: Harness) -> tuple[str, ...]:
    """The field paths of all parts, in the harness's order, each once."""
    return tuple(dict.fromkeys(_parts(harness)))


def hooks_of(hooks: Hooks) -> Iterator[tuple[str, Hook]]:
    """Every hook with its path."""
    for stage in STAGES:
        for hook in getattr(hooks, stage):
            yield f"middleware.hooks.{stage}[{hook.name}]", hook


def covered(optimized: Harness, knowledge: Knowledge) -> tuple[str, ...]:
    """The parts of h* that have neither an entry of K nor a stated reason; empty where all is told.

    A recipe holds what it repeats exactly, guidance as many examples as were not left out.
    """
    holding = Holding(optimized, knowledge)
    return tuple(p for p in parts(optimized) if not holding.entries(p) and not holding.reasons(p))


class Holding:
    """Which entries of K hold a part."""

    def __init__(self, optimized: Harness, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._held: dict[str, list[str]] = {}
        for hint in knowledge.hints:
            self._add(hint.source, f"hint {hint.name}")
        for pattern in knowledge.patterns:
            self._add(pattern.source, f"pattern {pattern.name}")
        tools = {tool.name: tool for tool in optimized.tools}
        for recipe in knowledge.recipes:
            if recipe.tool in tools:
                for part in _of_recipe(recipe, tools[recipe.tool]):
                    self._add(part, f"recipe {recipe.tool}")
        by_source = {f"skills[{skill.name}]": skill for skill in optimized.skills}
        for guidance in knowledge.guidance:
            skill = by_source.get(guidance.source)
            for part in self._of_guidance(guidance, optimized, skill):
                self._add(part, f"guidance {guidance.skill}")

    def entries(self, part: str) -> tuple[str, ...]:
        """The entries that a part is in."""
        return tuple(self._held.get(part, ()))

    def reasons(self, part: str) -> tuple[str, ...]:
        """Why the part, or a whole it belongs to, does not transfer."""
        return tuple(o.reason for o in self._knowledge.omissions if within(part, o.part))

    def _add(self, part: str, entry: str) -> None:
        held = self._held.setdefault(part, [])
        if entry not in held:
            held.append(entry)

    def _of_guidance(
        self, guidance: Guidance, optimized: Harness, skill: Skill | None
    ) -> Iterator[str]:
        examples = optimized.prompt.examples
        if skill is not None:
            where, examples = guidance.source, skill.examples
            if guidance.text:
                yield from (f"{where}.text", f"{where}.system")
            yield f"{where}.when"
        elif guidance.source == PROMPT:
            where = PROMPT
            if guidance.text:
                yield from (f"{where}.system", f"{where}.task")
        else:
            return
        kept = [p for p in _examples(where, len(examples)) if not self.reasons(p)]
        yield from kept[: len(guidance.examples)]


def within(part: str, whole: str) -> bool:
    """Whether a part is `whole` or lies inside it."""
    return part == whole or (part.startswith(whole) and part[len(whole)] in ".[")


def _parts(harness: Harness) -> Iterator[str]:
    if harness.prompt.system:
        yield "prompt.system"
    yield "prompt.task"
    yield from _examples(PROMPT, len(harness.prompt.examples))
    for tool in harness.tools:
        yield from _of_tool(tool)
    for skill in harness.skills:
        yield from _of_skill(skill)
    middleware = harness.middleware
    yield from ("middleware.protocol.format", "middleware.protocol.strict")
    if middleware.protocol.several is not None:
        yield "middleware.protocol.several"
    if middleware.protocol.in_reasoning is not None:
        yield "middleware.protocol.in_reasoning"
    yield from ("middleware.loop.max_turns", "middleware.loop.max_reply_tokens")
    if middleware.loop.stop:
        yield "middleware.loop.stop"
    yield "middleware.loop.votes"
    for where, _ in hooks_of(middleware.hooks):
        yield where
    yield from ("middleware.context.policy", "middleware.context.keep_tokens")
    yield from ("middleware.context.tool_output_tokens", "memory.policy")
    yield from ("memory.capacity", "memory.top_k")
    for note in harness.memory.entries:
        yield f"memory.entries[{note.name}]"


def _of_tool(tool: Tool) -> Iterator[str]:
    where = f"tools[{tool.name}]"
    if tool.description:
        yield f"{where}.description"
    if tool.parameters:
        yield f"{where}.parameters"
    yield f"{where}.timeout_s"
    if tool.aliases:
        yield f"{where}.aliases"
    for name in tool.arguments:
        yield f"{where}.arguments.{name}"
    yield f"{where}.steps" if tool.action is None else f"{where}.action"


def _of_skill(skill: Skill) -> Iterator[str]:
    where = f"skills[{skill.name}]"
    yield f"{where}.when"
    if skill.system:
        yield f"{where}.system"
    if skill.text:
        yield f"{where}.text"
    if skill.tools is not None:
        yield f"{where}.tools"
    yield from _examples(where, len(skill.examples))


def _examples(where: str, count: int) -> list[str]:
    return [f"{where}.examples[{index}]" for index in range(count)]


def _of_recipe(recipe: Recipe, tool: Tool) -> Iterator[str]:
    """What of the tool the recipe repeats."""
    where = f"tools[{tool.name}]"
    if recipe.text:
        yield f"{where}.description"
    if recipe.parameters == tool.parameters:
        yield f"{where}.parameters"
    for name, rule in tool.arguments.items():
        if recipe.mends.get(name) == rule:
            yield f"{where}.arguments.{name}"
    if recipe.steps:
        yield f"{where}.steps" if tool.action is None else f"{where}.action"
