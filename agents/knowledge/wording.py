"""Texts of h* in the target's words: a tool that the target lacks is told as its recipe's steps."""

import re
from collections.abc import Mapping

from evener.protocols.harness import Harness
from evener.protocols.knowledge import Knowledge, Recipe


class Wording:
    """The names of h*'s tools that the target lacks, with what stands for them, or nothing."""

    def __init__(self, means: Mapping[str, str | None]) -> None:
        self._means = dict(means)
        names = sorted(self._means, key=lambda name: (-len(name), name))
        pattern = "|".join(re.escape(name) for name in names)
        self._names = re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])") if names else None

    def retold(self, text: str) -> str:
        """The text with every name that has a recipe replaced."""
        if self._names is None:
            return text
        return self._names.sub(lambda found: self._means[found.group()] or found.group(), text)

    def foreign(self, text: str) -> tuple[str, ...]:
        """The names in a text that the target lacks."""
        return tuple(dict.fromkeys(self._names.findall(text))) if self._names else ()


def phrase(recipe: Recipe) -> str:
    """The steps in words, `lookup, then calculator` for example."""
    return ", then ".join(step.action for step in recipe.steps)


def wording(optimized: Harness, target: Harness, recipes: Mapping[str, Recipe]) -> Wording:
    """The wording between two harnesses; names in common stay."""
    offered = {name for tool in target.tools for name in (tool.name, *tool.aliases)}
    means: dict[str, str | None] = {}
    for tool in optimized.tools:
        recipe = recipes.get(tool.name)
        for name in (tool.name, *tool.aliases):
            if name not in offered:
                means[name] = phrase(recipe) if recipe else None
    return Wording(means)


def wording_of(knowledge: Knowledge, optimized: Harness, target: Harness) -> Wording:
    """The wording that a finished K was made in."""
    return wording(optimized, target, {recipe.tool: recipe for recipe in knowledge.recipes})
